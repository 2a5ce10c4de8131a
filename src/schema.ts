import './domains/index.ts';
import './domains/api-key/api-key.type.ts';
import './domains/event/event.type.ts';
import './domains/rate-limit.type.ts';
import { RESOURCES, SCOPES } from './domains/routes.ts';
import { buildSchema } from './schema/builder.ts';
import { withScopes } from './schema/scopes.ts';

/** The executable schema, also used by REST. Creating it has no side effects and needs no environment. */
export const schema = withScopes(buildSchema(), RESOURCES, SCOPES);

import { addApiKeys } from './domains/api-key/api-key.type.ts';
import { apiKey, keys, ownKey } from './domains/api-key/api-key.routes.ts';
import { createApi } from './domains/create-api.ts';
import { eventResource } from './domains/event/event.routes.ts';
import { addEventTypes } from './domains/event/event.type.ts';
import type { Feature } from './domains/feature.ts';
import { DOMAINS } from './domains/index.ts';
import { addRateLimit } from './domains/rate-limit.type.ts';
import { addRequests, requests } from './domains/request/request.domain.ts';
import { addUsage, usage } from './domains/usage/usage.domain.ts';
import { API_KEYS } from './store/stored-api-keys.ts';
import { objectPart } from './store/dump.ts';
import { DOCUMENTS } from './store/trusted-documents.ts';
import { webhooks } from './webhooks/webhooks.feature.ts';

/** All features, in the order of their operations in documentation and of their parts in imports. */
export const FEATURES: readonly Feature[] = [
  { resources: (types) => [eventResource(types)], addTypes: addEventTypes },
  { exports: [objectPart('documents', 'trusted documents', DOCUMENTS)] },
  webhooks,
  {
    resources: () => [apiKey, ownKey, keys],
    addTypes: addApiKeys,
    exports: [objectPart('keys', 'API keys with their hashes', API_KEYS)],
  },
  { resources: () => [usage], addTypes: addUsage },
  { resources: () => [requests], addTypes: addRequests },
  { addTypes: addRateLimit },
];

/** The API of the Petstore. Only entry points and tests import it. */
export const api = createApi(DOMAINS, FEATURES);

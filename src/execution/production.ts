import { createRequire } from 'node:module';

/**
 * Loads graphql-js in production mode. Otherwise, every `instanceof`, of which a request has thousands, also
 * checks for a second copy of graphql-js, and validation takes twice as long. The lockfile has only one copy.
 * Must be imported before anything else that imports graphql-js. NODE_ENV is restored for everything else.
 */
const { NODE_ENV } = process.env;
process.env.NODE_ENV = 'production';
createRequire(import.meta.url)('graphql');
if (NODE_ENV === undefined) delete process.env.NODE_ENV;
else process.env.NODE_ENV = NODE_ENV;

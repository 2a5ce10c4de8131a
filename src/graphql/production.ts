import { createRequire } from 'node:module';

/**
 * Loads graphql-js as it is meant to serve. Loaded under any other NODE_ENV, it looks for a second copy of itself at each of
 * the thousands of `instanceof` of a request, and takes twice the time to validate a document; the lockfile has only one copy.
 * To be imported before anything that imports graphql-js. What NODE_ENV says to others stays as it was.
 */
const { NODE_ENV } = process.env;
process.env.NODE_ENV = 'production';
createRequire(import.meta.url)('graphql');
if (NODE_ENV === undefined) delete process.env.NODE_ENV;
else process.env.NODE_ENV = NODE_ENV;

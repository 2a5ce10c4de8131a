/** Where the pages and what they lead to are served. */
export const DOCS_PATH = '/docs';
export const OPENAPI_PATH = '/openapi.json';
export const SDL_PATH = '/schema.graphql';
export const OPERATIONS_PATH = '/explorer/operations.json';

/** Paths of the pages and their resources. */
export const DOCS_PATH = '/docs';
export const CONSOLE_PATH = '/console';
export const OPENAPI_PATH = '/openapi.json';
export const SDL_PATH = '/schema.graphql';
export const OPERATIONS_PATH = '/explorer/operations.json';

/** Paths of the pages and their resources. */
export const DOCS_PATH = '/docs';
export const CONSOLE_PATH = '/console';
export const GUIDES_PATH = '/guides';
export const OPENAPI_PATH = '/openapi.json';
export const SDL_PATH = '/schema.graphql';
export const ICON_PATH = '/favicon.svg';

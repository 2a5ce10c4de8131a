/** An API key, or enough of one to recognise it. */
const KEY = /petstore_[0-9A-Za-z]{8,}/g;
/** Characters of a path that logs and traces show. */
const MAX_PATH = 300;

/** A text without the API keys in it. Somebody may have put one into a URL, a name or a header by mistake. */
export const masked = (text: string): string =>
  text.includes('petstore_') ? text.replace(KEY, 'petstore_…') : text;

/** A path as logs and traces show it. */
export const shownPath = (path: string): string =>
  masked(path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path);

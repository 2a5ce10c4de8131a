/** In session storage, which is gone when the tab closes. */
export const STORAGE_NAME = 'petstore.key';

/**
 * Takes the key out of a link such as `/graphql#key=…`, which the start of a development server prints: browsers never
 * send the fragment. It is kept for the tab and leaves the address at once, history included.
 *
 * @returns whether there was one
 */
export function takeKey(): boolean {
  const [, key, others = ''] = /^#key=([!-~]*?)(?:&(.*))?$/.exec(location.hash) ?? [];
  if (!key) return false;
  sessionStorage.setItem(STORAGE_NAME, key);
  history.replaceState(null, '', `${location.pathname}${location.search}${others && `#${others}`}`);
  return true;
}

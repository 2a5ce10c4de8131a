// Blocks rendering for one small, cached file that imports nothing: no page flashes in the wrong theme (theme.ts), and no
// other script sees a key in the address.
{
  const choice = localStorage.getItem('petstore.theme');
  if (choice === 'light' || choice === 'dark') document.documentElement.style.colorScheme = choice;

  // Links such as `/graphql#key=…`, which the start of a development server prints, carry a key in their fragment, which
  // browsers never send. It is kept for the tab (key.ts) and leaves the address at once, history included.
  const [, key, others = ''] = /^#key=([!-~]+?)(?:&(.*))?$/.exec(location.hash) ?? [];
  if (key !== undefined) {
    sessionStorage.setItem('petstore.key', key);
    history.replaceState(null, '', `${location.pathname}${location.search}${others && `#${others}`}`);
  }
}

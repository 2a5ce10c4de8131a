// A small, cached file without imports that blocks rendering, so that no page flashes in the wrong theme (theme.ts) and
// no other script sees a key in the address.
{
  const choice = localStorage.getItem('petstore.theme');
  if (choice === 'light' || choice === 'dark') document.documentElement.style.colorScheme = choice;

  // Links such as `/graphql#key=…`, which a development server prints at its start, have a key in their fragment, which
  // browsers never send. It is kept for the tab (key.ts) and removed at once from the address and history.
  const [, key, others = ''] = /^#key=([!-~]+?)(?:&(.*))?$/.exec(location.hash) ?? [];
  if (key !== undefined) {
    sessionStorage.setItem('petstore.key', key);
    history.replaceState(null, '', `${location.pathname}${location.search}${others && `#${others}`}`);
  }
}

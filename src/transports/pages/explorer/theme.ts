import { element, Observable } from './browser.ts';

/** The name in local storage, also read before the first paint (first-paint.ts). */
const STORAGE_NAME = 'petstore.theme';

const system = matchMedia('(prefers-color-scheme: dark)');
const select = element<HTMLSelectElement>('theme');

/**
 * The theme of all pages, as chosen in the header, by default that of the operating system. It sets the `color-scheme`
 * of the document, which all `light-dark()` colours follow.
 */
export const theme = new Observable<'light' | 'dark'>('light');

function apply(): void {
  select.value = localStorage.getItem(STORAGE_NAME) ?? 'system';
  const isDark = select.value === 'dark' || (select.value === 'system' && system.matches);
  theme.settle(isDark ? 'dark' : 'light');
  document.documentElement.style.colorScheme = theme.state;
}

select.addEventListener('change', () => {
  localStorage.setItem(STORAGE_NAME, select.value);
  apply();
});
system.addEventListener('change', apply);
// Another tab may change the choice.
addEventListener('storage', apply);
apply();

import { element, Observable } from './browser.ts';

/** Also read before the first paint (first-paint.ts). */
const STORAGE_NAME = 'petstore.theme';

const system = matchMedia('(prefers-color-scheme: dark)');
const select = element<HTMLSelectElement>('theme');

/**
 * The theme of all pages, chosen in the header, or by default that of the operating system. In force as the
 * `color-scheme` of the document, which every `light-dark()` colour follows.
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
// Another tab has changed it.
addEventListener('storage', apply);
apply();

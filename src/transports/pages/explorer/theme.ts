import { Observable } from './browser.ts';

/** What the user has chosen for all pages. `system` follows the operating system. */
export type ThemeChoice = 'system' | 'light' | 'dark';

/** Also read before the first paint (first-paint.ts). */
const STORAGE_NAME = 'petstore.theme';

const system = matchMedia('(prefers-color-scheme: dark)');

/** The theme of all pages, in force as the `color-scheme` of the document, which every `light-dark()` colour follows. */
export const theme = new Observable<'light' | 'dark'>('light');

export const chosenTheme = () => (localStorage.getItem(STORAGE_NAME) ?? 'system') as ThemeChoice;

export function chooseTheme(choice: ThemeChoice): void {
  localStorage.setItem(STORAGE_NAME, choice);
  apply();
}

function apply(): void {
  const choice = chosenTheme();
  const inForce = choice === 'system' ? (system.matches ? 'dark' : 'light') : choice;
  document.documentElement.style.colorScheme = inForce;
  theme.settle(inForce);
}

system.addEventListener('change', apply);
// Another tab has changed it.
addEventListener('storage', ({ key }) => {
  if (key === STORAGE_NAME) apply();
});
apply();

import { Observable } from './browser.ts';

/** What the user has chosen for all pages. `system` follows the operating system. */
export type ThemeChoice = 'system' | 'light' | 'dark';

/** Also read before the first paint (first-paint.ts). */
const STORAGE_NAME = 'petstore.theme';

/** The theme of all pages, in force as the `color-scheme` of the document, which every `light-dark()` colour follows. */
class Theme extends Observable<'light' | 'dark'> {
  readonly #system = matchMedia('(prefers-color-scheme: dark)');

  constructor() {
    super('light');
    this.#apply();
    this.#system.addEventListener('change', () => this.#apply());
    // Another tab has changed it.
    addEventListener('storage', ({ key }) => {
      if (key === STORAGE_NAME) this.#apply();
    });
  }

  get choice(): ThemeChoice {
    const stored = localStorage.getItem(STORAGE_NAME);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  }

  set choice(choice: ThemeChoice) {
    localStorage.setItem(STORAGE_NAME, choice);
    this.#apply();
  }

  #apply(): void {
    const system = this.#system.matches ? 'dark' : 'light';
    const theme = this.choice === 'system' ? system : this.choice;
    document.documentElement.style.colorScheme = theme;
    this.settle(theme);
  }
}

export const theme = new Theme();

import { capitalised } from '../../../foundation/words.ts';
import { element } from './browser.ts';
import { apiKey, type KeyState } from './key.ts';
import { type Budget, secondsUntilLeft, windowAt } from './server.ts';
import { chooseTheme, chosenTheme, type ThemeChoice, theme } from './theme.ts';
import { duration, number } from './words.ts';

/** How often the budget is checked, in milliseconds. */
const CHECK_INTERVAL = 3_000;

/** Activates the API key form and the choice of a theme in the header, and checks the current key. */
export function initHeader(): void {
  const input = element<HTMLInputElement>('key');
  const status = element('key-status');
  const reset = element('key-reset').appendChild(new Text());
  const show = () => {
    const { state } = apiKey;
    const text = describe(state);
    // Set only when it differs, because screen readers announce it.
    if (status.textContent !== text) status.textContent = text;
    const wait = state.kind === 'accepted' ? millisecondsUntilReset(state.budget) : 0;
    // Its text alone changes every second, which those who watch the page for elements do not notice.
    reset.data = wait > 0 ? `Resets in ${duration(wait)}.` : '';
    const isEmpty = state.kind === 'accepted' && secondsUntilLeft(state.budget, Date.now()) > 0;
    status.dataset.kind = isEmpty ? 'empty' : state.kind;
    input.setAttribute('aria-invalid', String(state.kind === 'refused'));
  };
  input.value = apiKey.value;
  const use = () => void apiKey.use(input.value.trim());
  element('key-form').addEventListener('submit', (event) => {
    event.preventDefault();
    use();
  });
  // Pasting a key submits it.
  for (const type of ['change', 'paste']) input.addEventListener(type, () => setTimeout(use));
  apiKey.subscribe(show);
  setInterval(show, 1_000);
  // Others may use the key meanwhile, and subscriptions do. Checking is free, but a refused key counts against the address.
  setInterval(() => {
    const { state } = apiKey;
    const isRefused = state.kind === 'refused' && state.isFinal;
    if (apiKey.value !== '' && !isRefused && !document.hidden) void apiKey.check();
  }, CHECK_INTERVAL);
  const select = element<HTMLSelectElement>('theme');
  const showTheme = () => {
    select.value = chosenTheme();
  };
  showTheme();
  theme.subscribe(showTheme);
  select.addEventListener('change', () => chooseTheme(select.value as ThemeChoice));
  void apiKey.check();
}

function describe(state: KeyState): string {
  switch (state.kind) {
    case 'missing':
      return 'Enter an API key to send requests.';
    case 'checking':
      return 'Checking the key …';
    case 'refused':
      return state.message;
    case 'accepted':
      return `${state.budget.plan ? `${capitalised(state.budget.plan)}: ` : ''}${left(state.budget)}`;
  }
}

/** Until there is more of what is used up, or else of this minute; 0 if nothing is used. */
function millisecondsUntilReset(budget: Budget): number {
  const now = Date.now();
  const { remaining, limit, resetAt } = windowAt(budget.minute, now);
  return secondsUntilLeft(budget, now) * 1_000 || (remaining < limit ? resetAt - now : 0);
}

/** What is left in both windows: `59 of 60 left this minute, 998 of 1,000 today`. */
function left({ minute, day }: Budget): string {
  const [now, today] = [minute, day].map((window) => {
    const { remaining, limit } = windowAt(window, Date.now());
    return `${number(remaining)} of ${number(limit)}`;
  });
  return `${now} left this minute, ${today} today.`;
}

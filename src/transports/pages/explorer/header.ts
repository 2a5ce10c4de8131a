import './pages.css';
import './theme.ts';
import { capitalised, grouped } from '../../../foundation/words.ts';
import { element } from './browser.ts';
import { apiKey, type KeyState } from './key.ts';
import { type Budget, duration, secondsUntilLeft, type Window } from './responses.ts';

/** The interval at which the budget is checked, in milliseconds. */
const CHECK_INTERVAL = 3_000;

const input = element<HTMLInputElement>('key');
const status = element('key-status');
const reset = element('key-reset').appendChild(new Text());

function show(): void {
  const { state } = apiKey;
  const text = describe(state);
  // Set only on a change, because screen readers announce it.
  if (status.textContent !== text) status.textContent = text;
  const empty = state.kind === 'accepted' ? secondsUntilLeft(state.budget) : 0;
  const wait = state.kind === 'accepted' && empty === 0 ? secondsUntilFull(state.budget.minute) : empty;
  // A change of a text node every second, which observers of the page's elements don't notice.
  reset.data = wait > 0 ? `Resets in ${duration(wait)}.` : '';
  status.dataset.kind = empty > 0 ? 'empty' : state.kind;
  input.ariaInvalid = String(state.kind === 'refused');
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
      return left(state.budget);
  }
}

/** The remainder of both windows: `Free: 59 of 60 left this minute, 998 of 1,000 today.` */
function left({ plan, minute, day }: Budget): string {
  const ofWindow = ({ remaining, limit }: Window) => `${grouped(remaining)} of ${grouped(limit)}`;
  return `${plan ? `${capitalised(plan)}: ` : ''}${ofWindow(minute)} left this minute, ${ofWindow(day)} today.`;
}

const secondsUntilFull = ({ remaining, limit, resetAt }: Window): number =>
  remaining < limit ? (resetAt - Date.now()) / 1_000 : 0;

const use = () => void apiKey.use(input.value.trim());
element('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  use();
});
// Pasting a key submits it.
for (const type of ['change', 'paste']) input.addEventListener(type, () => setTimeout(use));
input.value = apiKey.value;
apiKey.subscribe(show);
// Others may use the key meanwhile, and subscriptions do. Checks are free, but a refused key counts against the
// address.
setInterval(() => {
  const { state } = apiKey;
  const isRefused = state.kind === 'refused' && state.isFinal;
  if (apiKey.value !== '' && !isRefused && !document.hidden) void apiKey.check();
}, CHECK_INTERVAL);
void apiKey.check();

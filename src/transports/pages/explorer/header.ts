import { apiKey, type KeyState } from './key.ts';

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

/** Activates the API key form in the header, and checks the current key. */
export function initHeader(): void {
  const input = element<HTMLInputElement>('key');
  const status = element('key-status');
  const show = () => {
    const { state } = apiKey;
    status.textContent = describe(state);
    status.dataset.kind = state.kind;
    input.setAttribute('aria-invalid', String(state.kind === 'refused'));
  };
  input.value = apiKey.value;
  element('key-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void apiKey.use(input.value.trim());
  });
  // Pasting a key submits it.
  input.addEventListener('change', () => {
    if (input.value.trim() !== apiKey.value) void apiKey.use(input.value.trim());
  });
  input.addEventListener('paste', () => setTimeout(() => void apiKey.use(input.value.trim())));
  apiKey.subscribe(show);
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
      return `Key accepted: plan ${state.budget.plan.toLowerCase()}.`;
  }
}

import '../pages.css';
import '../widgets.css';
import './landing.css';
import { copy } from '../clipboard.ts';
import { BudgetGauges } from '../console/charts.ts';
import { showEvents } from '../console/events.ts';
import { element } from '../element.ts';
import { indentExactly } from '../exact-json.ts';
import { initHeader } from '../header.ts';
import { apiKey } from '../key.ts';
import { type Budget, errorMessage } from '../server.ts';

/** Colours the values of JSON, where the browser can without changing the text (CSS Custom Highlight API). */
function colourValues(): void {
  const values = new Set<Range>();
  for (const id of ['first-answer', 'answer']) {
    const text = document.createTreeWalker(element(id), NodeFilter.SHOW_TEXT).nextNode() as Text;
    for (const { 0: value, 1: colon, index } of text.data.matchAll(/"(?:[^"\\]|\\.)*"(:)?|\b\d+\b/g)) {
      if (colon) continue;
      const range = new Range();
      range.setStart(text, index);
      range.setEnd(text, index + value.length);
      values.add(range);
    }
  }
  globalThis.CSS?.highlights?.set('value', new Highlight(...values));
}
colourValues();

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  button.addEventListener('click', async () => {
    // Only the copy has the key, because the page may be seen by others.
    const text = element(button.dataset.copy!).textContent!.replace('YOUR_KEY', apiKey.value || 'YOUR_KEY');
    const isCopied = await copy(text);
    button.textContent = isCopied ? 'Copied' : 'Not allowed';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2_000);
  });
}

element('run').addEventListener('click', async () => {
  const said = element('ran');
  if (apiKey.value === '') {
    said.textContent = 'Enter an API key above first.';
    return;
  }
  said.textContent = 'Running …';
  const began = performance.now();
  try {
    const response = await apiKey.fetch('/graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: element('query').textContent }),
    });
    const text = await response.text();
    element('answer').textContent = indentExactly(text);
    colourValues();
    const milliseconds = Math.round(performance.now() - began);
    said.textContent = response.ok ? `Answered in ${milliseconds} ms.` : errorMessage(text, response);
  } catch (error) {
    said.textContent = (error as Error).message;
  }
});

const gauges = new BudgetGauges();
element('gauges').append(...gauges.elements);
showEvents(element('live'), () => apiKey.state.kind === 'accepted');
apiKey.subscribe(() => {
  const { state } = apiKey;
  const isExample = state.kind !== 'accepted';
  element('gauges-note').textContent = isExample
    ? 'An example: a Free key after the two requests above. Yours appears when a key is entered.'
    : '';
  gauges.set(isExample ? exampleBudget() : state.budget);
});

const exampleBudget = (): Budget => ({
  plan: 'free',
  minute: { limit: 60, remaining: 58, resetAt: Date.now() + 60_000 },
  day: { limit: 1_000, remaining: 998, resetAt: Date.now() + 86_400_000 },
});
initHeader();

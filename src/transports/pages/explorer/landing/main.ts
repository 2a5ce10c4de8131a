import '../header.ts';
import '../widgets.css';
import './landing.css';
import indented from 'json-stringify-pretty-compact';
import { copyBy, element, MOUNT } from '../browser.ts';
import { apiKey } from '../key.ts';
import { messageOf } from '../responses.ts';
import { counted, grouped } from '../../../../foundation/words.ts';

/** The budget of a Free key per minute. */
const FREE_UNITS = 60;
/** The time between lines of the answer, in milliseconds. */
const LINE_TIME = 70;
/** The maximum length of an object on one line; longer ones take a line per field. */
const maxLength = 90;

/** A line of JSON with marked values. */
function lineOf(text: string): HTMLElement {
  const line = document.createElement('span');
  line.className = 'line';
  for (const [i, part] of `${text}\n`.split(/("(?:[^"\\]|\\.)*":?|\b\d+\b)/).entries()) {
    if (i % 2 === 0 || part.endsWith(':')) line.append(part);
    else line.appendChild(document.createElement('b')).textContent = part;
  }
  return line;
}

const budgetOf = (kind: string) => ({ bar: element(`${kind}-bar`), text: element(`${kind}-text`) });
/** Looked up once, since the animation continues for a moment while the browser leaves the page. */
const BUDGETS = { graphql: budgetOf('graphql'), rest: budgetOf('rest') };

/** Shows the remainder of a Free key's minute after this many requests of one unit. */
function spend(kind: 'graphql' | 'rest', requests: number): void {
  const { bar, text } = BUDGETS[kind];
  bar.style.setProperty('--share', String(1 - requests / FREE_UNITS));
  text.textContent = `${counted(requests, 'request')}, ${counted(requests, 'unit')}`;
}

let playing = 0;

/** Fills in the answer line by line, while the budgets shrink by its cost over GraphQL and REST. */
async function play(text: string): Promise<void> {
  const current = ++playing;
  const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const lines = text.split('\n');
  const shown = lines.map(lineOf);
  element('answer').firstElementChild!.replaceChildren(...shown);
  let requests = 0;
  spend('graphql', 0);
  spend('rest', 0);
  if (!isStill) for (const line of shown) line.classList.add('coming');
  for (const [i, line] of shown.entries()) {
    if (!isStill) await new Promise((resolve) => setTimeout(resolve, LINE_TIME));
    if (current !== playing) return;
    line.classList.remove('coming');
    spend('graphql', 1);
    // REST takes a request for each list and for the stock of each pet.
    requests += lines[i]!.match(/"(?:nodes|inventory)":/g)?.length ?? 0;
    spend('rest', requests);
  }
}

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  button.addEventListener('click', () => {
    // Only the copy has the key, because others may see the page.
    const text = element(button.dataset.copy!).textContent!.replace('YOUR_KEY', apiKey.value || 'YOUR_KEY');
    void copyBy(button, text);
  });
}

element('run').addEventListener('click', async () => {
  const status = element('ran');
  if (apiKey.value === '') {
    status.textContent = 'This is the sample data. Enter an API key above to run it.';
    void play(element('answer').textContent!.trim());
    return;
  }
  status.textContent = 'Running …';
  const began = performance.now();
  try {
    const response = await apiKey.fetch(`${MOUNT}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: element('query').textContent }),
    });
    const text = await response.text();
    const milliseconds = Math.round(performance.now() - began);
    if (!response.ok) throw new Error(messageOf(text, response));
    const { state } = apiKey;
    const left =
      state.kind === 'accepted' && `: ${grouped(state.budget.minute.remaining)} units left this minute`;
    status.textContent = `Answered in ${milliseconds} ms${left || ''}.`;
    void play(indented(JSON.parse(text), { maxLength }));
  } catch (error) {
    status.textContent = (error as Error).message;
  }
});

void play(element('answer').textContent!);

import '../pages.css';
import '../widgets.css';
import './landing.css';
import indented from 'json-stringify-pretty-compact';
import { copy, element } from '../browser.ts';
import { initHeader } from '../header.ts';
import { apiKey } from '../key.ts';
import { messageOf } from '../server.ts';
import { counted } from '../words.ts';

/** What a Free key has each minute. */
const FREE_UNITS = 60;
/** Longer objects take a line for each field. */
const maxLength = 90;

/** Says what of a Free key's minute is left after so many requests of a kind, each of one unit. */
function spend(kind: 'graphql' | 'rest', requests: number): void {
  element(`${kind}-bar`).style.setProperty('--share', String(1 - requests / FREE_UNITS));
  element(`${kind}-text`).textContent = `${counted(requests, 'request')}, ${counted(requests, 'unit')}`;
}

/** Shows an answer, and what it takes over GraphQL and over REST. */
function show(answer: string): void {
  element('answer').firstElementChild!.textContent = answer;
  spend('graphql', 1);
  // REST takes a request for each list and for the stock of each pet.
  spend('rest', answer.match(/"(?:nodes|inventory)":/g)?.length ?? 0);
}

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  button.addEventListener('click', async () => {
    // Only the copy has the key, because the page may be seen by others.
    const text = element(button.dataset.copy!).textContent!.replace('YOUR_KEY', apiKey.value || 'YOUR_KEY');
    button.textContent = (await copy(text)) ? 'Copied' : 'Not allowed';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2_000);
  });
}

element('run').addEventListener('click', async () => {
  const said = element('ran');
  if (apiKey.value === '') {
    said.textContent = 'This is the sample data. Enter an API key above to run it.';
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
    const milliseconds = Math.round(performance.now() - began);
    if (!response.ok) throw new Error(messageOf(text, response));
    said.textContent = `Answered in ${milliseconds} ms.`;
    show(indented(JSON.parse(text), { maxLength }));
  } catch (error) {
    said.textContent = (error as Error).message;
  }
});

initHeader();
show(element('answer').textContent!);

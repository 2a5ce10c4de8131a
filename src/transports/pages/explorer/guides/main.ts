import '../header.ts';
import './guides.css';
import { copyBy, element, MOUNT } from '../browser.ts';
import { counted } from '../../../../foundation/words.ts';

/** The texts of all guides and sections, by path; loaded for the first search. */
let texts: Promise<Record<string, string>> | undefined;
const loadTexts = () =>
  (texts ??= fetch(`${MOUNT}/guides/search.json`).then(
    (response) => response.json(),
    () => ({}),
  ));

/** The length of text shown before and after the first match, in characters. */
const AROUND = 40;

/** Shows the sections of all guides that contain all words; for an empty search, the headings of the open guide. */
async function search(): Promise<void> {
  const field = element<HTMLInputElement>('search');
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const index = words.length > 0 ? await loadTexts() : {};
  // Stops if more has been typed since.
  if (field.value.toLowerCase().split(/\s+/).filter(Boolean).join(' ') !== words.join(' ')) return;
  let count = 0;
  for (const guide of document.querySelectorAll<HTMLElement>('.contents > ul > li')) {
    const link = guide.querySelector('a')!;
    const list = guide.querySelector('ul')!;
    let isMatch = matches(link, words, index);
    if (isMatch) count++;
    for (const item of list.children as HTMLCollectionOf<HTMLElement>) {
      item.hidden = !matches(item.querySelector('a')!, words, index);
      if (item.hidden) continue;
      isMatch = true;
      count++;
    }
    guide.hidden = words.length > 0 && !isMatch;
    list.hidden = words.length === 0 && !link.ariaCurrent;
  }
  element('found').textContent = words.length > 0 ? `${counted(count, 'section')} found` : '';
}

/** True if the target of a link contains all words; shows the matches next to it. */
function matches(link: HTMLAnchorElement, words: readonly string[], index: Record<string, string>): boolean {
  const path = link.getAttribute('href')!.slice(MOUNT.length);
  const text = index[path] ?? '';
  const title = link.textContent!.toLowerCase();
  const lower = text.toLowerCase();
  const isMatch = words.every((word) => title.includes(word) || lower.includes(word));
  link.parentElement!.querySelector(':scope > small')?.remove();
  const at = isMatch ? Math.max(...words.map((word) => lower.indexOf(word))) : -1;
  if (at >= 0) {
    const snippet = document.createElement('small');
    snippet.textContent = `… ${text.slice(Math.max(0, at - AROUND), at + AROUND).trim()} …`;
    link.after(snippet);
  }
  return isMatch;
}

element('search').addEventListener('input', () => void search());
void search();

for (const block of document.querySelectorAll<HTMLElement>('.guide pre')) {
  const button = document.createElement('button');
  Object.assign(button, { type: 'button', textContent: 'Copy', ariaLabel: 'Copy the sample' });
  button.addEventListener('click', () => void copyBy(button, block.innerText));
  const frame = document.createElement('div');
  frame.className = 'code';
  block.replaceWith(frame);
  frame.append(block, button);
}

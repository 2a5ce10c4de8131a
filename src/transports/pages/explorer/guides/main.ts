import '../header.ts';
import './guides.css';
import { element } from '../browser.ts';
import { counted } from '../words.ts';

/** Shows the headings that contain all words of the search, of all guides; without one, those of the open guide. */
function search(): void {
  const words = element<HTMLInputElement>('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const guide of document.querySelectorAll<HTMLElement>('.contents > ul > li')) {
    const [link, list] = guide.children as unknown as [HTMLElement, HTMLElement];
    let isFound = false;
    for (const heading of list.children as HTMLCollectionOf<HTMLElement>) {
      const text = `${link.textContent} ${heading.textContent}`.toLowerCase();
      heading.hidden = !words.every((word) => text.includes(word));
      if (heading.hidden) continue;
      isFound = true;
      found++;
    }
    guide.hidden = words.length > 0 && !isFound;
    list.hidden = words.length === 0 && !link.ariaCurrent;
  }
  element('found').textContent = words.length > 0 ? `${counted(found, 'heading')} found` : '';
}

element('search').addEventListener('input', search);
search();

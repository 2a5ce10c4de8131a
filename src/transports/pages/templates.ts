import { readFileSync } from 'node:fs';
import { Eta } from 'eta';
import { FOLDER } from './files.ts';

const eta = new Eta({ views: FOLDER, defaultExtension: '.html', cache: true, tags: ['{{', '}}'] });

/** @param data the variable `it` of the template */
export const render = (template: string, data: object): string => eta.render(template, data);

/** A guide as rendered by `guides.ts` at the root of the repository, from a file of `docs`. */
export interface Guide {
  slug: string;
  title: string;
  /** The first sentence, as text. */
  about: string;
  /** The headings of levels 2 and 3, in order, with GitHub's ids and the text that follows each. */
  headings: { level: number; id: string; title: string; text: string }[];
  /** The text before the first heading, for the search. */
  text: string;
  html: string;
}

// Read on the first request for a page: a gateway that serves only programs doesn't need them.
let read: readonly Guide[] | undefined;

/** All guides, in the order of the list. */
export const guides = (): readonly Guide[] =>
  (read ??= JSON.parse(readFileSync(`${FOLDER}../guides.json`, 'utf8')) as Guide[]);

import { readFileSync } from 'node:fs';
import { Eta } from 'eta';
import { FOLDER } from './files.ts';

const eta = new Eta({ views: FOLDER, defaultExtension: '.html', cache: true, tags: ['{{', '}}'] });

/** @param data `it` in the template */
export const render = (template: string, data: object): string => eta.render(template, data);

/** A guide as rendered by `guides.ts` at the root of the repository, from a file of `docs`. */
export interface Guide {
  slug: string;
  title: string;
  /** Its first sentence as text. */
  about: string;
  /** Of levels 2 and 3, in order, with the ids that GitHub gives them. */
  headings: { level: number; id: string; title: string; text: string }[];
  /** The text before its first heading, as the text of a heading is what follows it: for the search. */
  text: string;
  html: string;
}

// Read on the first request for a page, because a gateway that serves only programs does not need them.
let read: readonly Guide[] | undefined;

/** All guides, in the order in which they are listed. */
export const guides = (): readonly Guide[] =>
  (read ??= JSON.parse(readFileSync(`${FOLDER}../guides.json`, 'utf8')) as Guide[]);

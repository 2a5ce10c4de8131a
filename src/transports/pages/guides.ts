import { readFileSync } from 'node:fs';
import { escapeHtml } from './html.ts';
import { GUIDES_PATH } from './paths.ts';

/** A guide as rendered by `guides.ts` at the root of the repository, from a file of `docs`. */
export interface Guide {
  slug: string;
  title: string;
  /** Its first sentence as text. */
  about: string;
  /** Of levels 2 and 3, in order, with the ids that GitHub gives them. */
  headings: { level: number; id: string; title: string }[];
  html: string;
}

let read: readonly Guide[] | undefined;

/** All guides, in the order in which they are listed. */
export function guides(): readonly Guide[] {
  read ??= JSON.parse(readFileSync(new URL('../../../dist/guides.json', import.meta.url), 'utf8')) as Guide[];
  return read;
}

export const guidePath = ({ slug }: Guide): string => `${GUIDES_PATH}/${slug}`;

const link = (path: string, text: string, more = '') => `<a href="${path}"${more}>${escapeHtml(text)}</a>`;

/** A list of links to all guides. */
export const guideLinks = (): string =>
  guides()
    .map((guide) => `<li>${link(guidePath(guide), guide.title)}</li>`)
    .join('\n');

/**
 * A guide beside the headings of all guides, which a script searches. Until then those of this one are shown.
 *
 * @param shown by default the list of all guides
 */
export function guideBody(shown?: Guide): string {
  const contents = guides().map((guide) => {
    const path = guidePath(guide);
    const headings = guide.headings.map(
      ({ level, id, title }) => `<li class="level-${level}">${link(`${path}#${id}`, title)}</li>`,
    );
    const isShown = guide === shown;
    return `<li>${link(path, guide.title, isShown ? ' aria-current="page"' : '')}
<ul${isShown ? '' : ' hidden'}>${headings.join('\n')}</ul></li>`;
  });
  const list = guides().map(
    (guide) => `<h2>${link(guidePath(guide), guide.title)}</h2>\n<p>${escapeHtml(guide.about)}</p>`,
  );
  return `<div class="guides">
<nav class="contents" aria-label="Guides">
<p class="controls"><input type="search" id="search" aria-label="Search headings" placeholder="Search headings …" autocomplete="off"></p>
<p id="found" role="status"></p>
<ul>${contents.join('\n')}</ul>
</nav>
<main id="main" class="guide" tabindex="-1">
${shown?.html ?? `<h1>Guides</h1>\n${list.join('\n')}`}
</main>
</div>`;
}

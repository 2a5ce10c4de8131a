import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import GithubSlugger from 'github-slugger';
import hljs from 'highlight.js';
import MarkdownIt, { type Token } from 'markdown-it';
import type { Guide } from './src/transports/pages/files.ts';

/** The order of the guides: for clients, for operators, for maintainers of the gateway. Others follow. */
const ORDER = [
  'tasks',
  'clients',
  'webhooks',
  'interface',
  'operating',
  'proxies',
  'growing',
  'architecture',
];

/** The addresses at which files beside the guides are served. */
const SERVED: Readonly<Record<string, string>> = {
  '../schema/openapi.json': '/openapi.json',
  '../schema/schema.graphql': '/schema.graphql',
  '../README.md': '/guides',
};

/**
 * Renders the guides as HTML.
 *
 * @param folder the folder with the Markdown files
 */
export function renderGuides(folder: string): Guide[] {
  const place = (slug: string) => (ORDER.includes(slug) ? ORDER.indexOf(slug) : ORDER.length);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.replace(/\.md$/, ''))
    .toSorted((a, b) => place(a) - place(b) || a.localeCompare(b))
    .map((slug) => render(slug, readFileSync(join(folder, `${slug}.md`), 'utf8')));
}

function render(slug: string, text: string): Guide {
  const markdown = new MarkdownIt({
    highlight: (code, language) =>
      hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : '',
  });
  // A comment above a file's text names the file.
  const tokens = markdown.parse(text.replaceAll(/^<!-- (?:\S*\/)?([\w.-]+) -->$/gm, '**`$1`**'), {});
  const slugger = new GithubSlugger();
  const headings: Guide['headings'] = [];
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const inline = tokens[i + 1]!;
      const title = inline.children!.map(({ content }) => content).join('');
      const id = slugger.slug(title);
      token.attrSet('id', id);
      headings.push({ level: Number(token.tag.slice(1)), id, title, text: '' });
    } else if (token.content !== '' && tokens[i - 1]?.type !== 'heading_open') {
      // Text before the first heading of a section belongs to the guide.
      const section = headings.findLast(({ level }) => level <= 3);
      if (section) section.text += `${textOf(token)} `;
    }
    let isDead = false;
    for (const child of token.children ?? []) {
      if (child.type === 'link_open') {
        const href = linkTo(child.attrGet('href') as string);
        isDead = href === undefined;
        if (href !== undefined) child.attrSet('href', href);
      }
      // A file of the repository that is not served.
      if (isDead && child.type.startsWith('link_')) Object.assign(child, { tag: 'span', attrs: null });
    }
  }
  // Content wider than a phone scrolls, also by the keyboard.
  const { rules } = markdown.renderer;
  const { fence } = rules;
  rules.fence = (...args) => fence!(...args).replace('<pre>', '<pre tabindex="0">');
  rules.table_open = () => '<div class="table" tabindex="0" role="region" aria-label="Table"><table>\n';
  rules.table_close = () => '</table></div>\n';
  const first = tokens.find(({ type }, i) => type === 'inline' && tokens[i - 1]?.type === 'paragraph_open');
  const firstText =
    first?.children?.map(({ content, type }) => (type === 'softbreak' ? ' ' : content)).join('') ?? '';
  return {
    slug,
    title: headings[0]?.title ?? slug,
    about: /^.*?\.(?= |$)/.exec(firstText)?.[0] ?? firstText,
    text: headings[0]?.text ?? '',
    headings: headings.filter(({ level }) => level === 2 || level === 3),
    html: markdown.renderer.render(tokens, markdown.options, {}),
  };
}

/** The visible text of inline Markdown or a block of code. */
const textOf = ({ children, content }: Token): string =>
  children ? children.map((child) => child.content || ' ').join('') : content;

/** @returns the target of a guide's link; undefined if it isn't served */
function linkTo(href: string): string | undefined {
  if (/^(?:https?:|#|\/)/.test(href)) return href;
  const [, guide, hash = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  return guide === undefined ? SERVED[href] : `/guides/${guide}${hash}`;
}

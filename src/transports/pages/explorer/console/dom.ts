/** What an element may contain: text, elements, or nothing. */
export type Content = string | number | Node | false | undefined | null;

type Attributes = Record<string, string | number | undefined | ((event: Event) => void)>;

/**
 * Creates an HTML element. Content is never parsed as HTML.
 *
 * @param attributes functions are event listeners: `{ onclick: … }`
 */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...content: Content[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(attribute.replace(/^on/, ''), value);
    else if (value !== undefined) element.setAttribute(attribute, String(value));
  }
  element.append(
    ...content.filter((item) => item !== false && item != null).map((item) => item as string | Node),
  );
  return element;
}

export const button = (label: string, onclick: () => unknown): HTMLButtonElement =>
  h('button', { type: 'button', onclick: () => void onclick() }, label);

/** What a part of a page is steered by. */
export const controls = (...content: Content[]): HTMLElement => h('p', { class: 'controls' }, ...content);

/** A table with a caption and one row for each record. */
export function table(caption: string, headings: readonly string[], rows: readonly Content[][]): HTMLElement {
  return h(
    'div',
    { class: 'table', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      {},
      h('caption', {}, caption),
      h('thead', {}, h('tr', {}, ...headings.map((text) => h('th', { scope: 'col' }, text)))),
      h('tbody', {}, ...rows.map((row) => h('tr', {}, ...row.map((cell) => h('td', {}, cell))))),
    ),
  );
}

/** A definition list of those entries that have a value. */
export const facts = (entries: readonly [term: string, value: Content][]): HTMLElement =>
  h(
    'dl',
    {},
    ...entries
      .filter(([, value]) => value !== undefined && value !== null && value !== '')
      .flatMap(([term, value]) => [h('dt', {}, term), h('dd', {}, value)]),
  );

export const note = (text: string): HTMLElement => h('p', { class: 'note' }, text);

/** A moment in the reader's own time zone. */
export const moment = (time: string | number): string =>
  new Date(time).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'medium' });

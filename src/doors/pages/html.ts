import { createHash } from 'node:crypto';
import type { Headers } from '../../http/exchange.ts';
import { GRAPHQL_PATH } from '../../http/paths.ts';
import type { Bundle } from './bundle.ts';
import { ICON_PATH } from './icon.ts';
import { DOCS_PATH } from './paths.ts';

/** Where a page may load from, beyond the nothing that it starts with (CSP level 3 directives). */
export type Sources = Record<string, string>;

/**
 * The headers of every HTML page: only what is named here may run or be loaded, nobody may frame it, and addresses don't
 * leak. Inline scripts run only if they are the ones that were written here.
 *
 * @param html its inline scripts are allowed by their digest
 */
function pageHeaders(html: string, sources: Sources): Headers {
  const hashes = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, script]) => `'sha256-${createHash('sha256').update(script!).digest('base64')}'`,
  );
  const directives: Sources = {
    'default-src': "'none'",
    ...sources,
    'script-src': [sources['script-src'], ...hashes].filter(Boolean).join(' ') || "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  };
  return [
    'Content-Security-Policy',
    Object.entries(directives)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'Referrer-Policy',
    'no-referrer',
    'X-Frame-Options',
    'DENY',
    'Cross-Origin-Opener-Policy',
    'same-origin',
    'Cross-Origin-Resource-Policy',
    'same-origin',
  ];
}

/** Of every page: styles of its own sheet and those that scripts set, pictures and fonts that style sheets bring as data. */
const SOURCES: Sources = {
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self' data:",
  'worker-src': "'self'",
  'connect-src': "'self'",
};

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as HTML, in an element or in an attribute. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char]!);

export const HTML_TYPE = 'text/html; charset=utf-8';

export interface HtmlPageOptions {
  title: string;
  /** Its name in the bundle. */
  name: string;
  path: string;
  /** What is below the bar that all pages have, as HTML. */
  body: string;
  bundle: Bundle;
  /** Whether there is GraphiQL to lead to. */
  graphiql: boolean;
  /** Filled in where people try things out; for development starts only. */
  developmentKey: string | undefined;
}

/** A page with the bar that leads to the others and takes the API key. */
export function htmlPage(options: HtmlPageOptions): string {
  const { title, name, path, body, bundle, graphiql, developmentKey } = options;
  const { script, style } = bundle.page(name);
  const link = (to: string, text: string) =>
    `<a href="${to}"${to === path ? ' aria-current="page"' : ''}>${escapeHtml(text)}</a>`;
  const key = developmentKey === undefined ? '' : ` data-development-key="${escapeHtml(developmentKey)}"`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${ICON_PATH}">
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body data-graphiql="${graphiql ? 'on' : 'off'}"${key}>
<header class="site-header">
<a class="brand" href="/"><img src="${ICON_PATH}" alt="" width="24" height="24">Petstore</a>
<nav aria-label="Pages">
${graphiql ? `${link(GRAPHQL_PATH, 'GraphiQL')}\n` : ''}${link(DOCS_PATH, 'REST docs')}
</nav>
<form id="key-form">
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" aria-describedby="key-status">
<button type="submit">Use</button>
<span id="key-status" role="status"></span>
</form>
</header>
${body}
</body>
</html>
`;
}

/** The headers that every page needs. */
export const htmlHeaders = (html: string): Headers => pageHeaders(html, SOURCES);

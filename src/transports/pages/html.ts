import { GRAPHQL_PATH } from '../../http/paths.ts';
import type { Headers } from '../../http/response.ts';
import type { Bundle } from './bundle.ts';
import { CONSOLE_PATH, DOCS_PATH, GUIDES_PATH, ICON_PATH } from './paths.ts';

/**
 * The only sources that a page may run or load (CSP level 3 directives). Scripts set inline styles, and style
 * sheets contain images and fonts as data URLs.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "worker-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The headers of every page. Framing is forbidden, and URLs are not leaked. Pages are private, because the paths of some
 * serve data to programs with a key.
 */
export const HTML_HEADERS: Headers = [
  'Cache-Control',
  'private, no-cache',
  'Vary',
  'Accept, Accept-Encoding, X-API-Key, Authorization',
  'Content-Security-Policy',
  POLICY,
  'Referrer-Policy',
  'no-referrer',
  'X-Frame-Options',
  'DENY',
  'Cross-Origin-Opener-Policy',
  'same-origin',
  'Cross-Origin-Resource-Policy',
  'same-origin',
];

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for element content and attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char]!);

export const HTML_TYPE = 'text/html; charset=utf-8';

export interface HtmlPageOptions {
  title: string;
  /** What search engines and previews of links show. */
  description: string;
  /** The page's name in the bundle. */
  name: string;
  path: string;
  /** HTML below the common header. */
  body: () => string;
  bundle: Bundle;
  /** Whether GraphiQL is available. */
  graphiql: boolean;
}

/** Renders a page with the common header, which has navigation and the API key form. */
export function htmlPage(options: HtmlPageOptions): string {
  const { title, description, name, path, body, bundle, graphiql } = options;
  const { script, styles, modules, assets } = bundle.page(name);
  // Named here, they load while the page's own script is on its way. Scripts of others are large, so they come after all else.
  const early = [
    ...modules.map((href) => `<link rel="modulepreload" href="${href}">`),
    ...assets
      .filter((href) => href.includes('/scalar-'))
      .map((href) => `<link rel="preload" as="script" href="${href}" fetchpriority="low">`),
  ];
  const link = (to: string, text: string) =>
    `<a href="${to}"${to === path ? ' aria-current="page"' : ''}>${escapeHtml(text)}</a>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(description)}">
<link rel="icon" href="${ICON_PATH}">
${styles.map((href) => `<link rel="stylesheet" href="${href}">`).join('\n')}
<script src="${bundle.page('first-paint').script}"></script>
<script type="module" src="${script}"></script>
${early.join('\n')}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="site-header">
<a class="brand" href="/"><img src="${ICON_PATH}" alt="" width="24" height="24">Petstore</a>
<nav aria-label="Pages">
${graphiql ? `${link(GRAPHQL_PATH, 'GraphiQL')}\n` : ''}${link(DOCS_PATH, 'REST docs')}
${link(GUIDES_PATH, 'Guides')}
${link(CONSOLE_PATH, 'Console')}
</nav>
<form id="key-form">
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" aria-describedby="key-status">
<button type="submit">Use</button>
<span class="key-state"><span id="key-status" role="status"></span> <span id="key-reset"></span></span>
</form>
<select id="theme" aria-label="Theme">
<option value="system">System</option>
<option value="light">Light</option>
<option value="dark">Dark</option>
</select>
</header>
${body()}
</body>
</html>
`;
}

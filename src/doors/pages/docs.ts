import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Asset, digestOf } from './asset.ts';
import { escapeHtml, HTML_TYPE, pageHeaders, type Sources } from './html.ts';

export const DOCS_PATH = '/docs';
export const OPENAPI_PATH = '/openapi.json';

/** Swagger UI sets styles from scripts and brings its icons as data. */
const SOURCES: Sources = {
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
};

/** Runs in the browser. What it needs to know stands in the page, so that it is the same everywhere. */
const SCRIPT = `'use strict';
const { openapi, apiKey } = document.getElementById('docs').dataset;
const NOTES = { beta: 'Details may still change within version 1.', experimental: 'May change or go at any time.' };

const operationAt = (system, path, method) => system.specSelectors.specJson().getIn(['paths', path, method]);

// The description says of each operation whether it may be tried, how stable it is and when it ends.
const lifecycle = () => ({
  statePlugins: {
    spec: {
      wrapSelectors: {
        allowTryItOutFor: (original, system) => (state, path, method) =>
          original(state, path, method) &&
          operationAt(system, path, method)?.get('x-explorer-enabled') !== false,
      },
    },
  },
  wrapComponents: {
    // Every answer has the same handful of headers; shown on demand, they leave the answers in sight.
    headers: (Original, { React }) => (props) =>
      props.headers?.size
        ? React.createElement(
            'details',
            { className: 'response-headers' },
            React.createElement('summary', null, props.headers.size + ' headers'),
            React.createElement(Original, props),
          )
        : null,
    OperationSummaryPath: (Original, system) => (props) => {
      const { createElement } = system.React;
      const operation = operationAt(system, props.operationProps.get('path'), props.operationProps.get('method'));
      const badge = (kind, text, title) =>
        createElement('span', { key: kind, className: 'lifecycle lifecycle-' + kind, title }, text);
      const stability = operation?.get('x-stability');
      const sunset = operation?.get('x-sunset');
      return createElement(
        system.React.Fragment,
        null,
        createElement(Original, props),
        NOTES[stability] ? badge(stability, stability, NOTES[stability]) : null,
        operation?.get('deprecated')
          ? badge('deprecated', sunset ? 'deprecated, ends ' + sunset : 'deprecated', 'Use something else in new work.')
          : null,
      );
    },
  },
});

const ui = SwaggerUIBundle({
  url: openapi,
  dom_id: '#docs',
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [lifecycle],
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: false,
  validatorUrl: null,
  onComplete: () => {
    if (apiKey) ui.preauthorizeApiKey('ApiKey', apiKey);
  },
});
`;

const STYLE = `body { margin: 0; background: #fafafa; }
.lifecycle { flex: none; margin: 0 8px; padding: 2px 8px; border-radius: 10px; font: 600 12px sans-serif; color: #fff; }
.lifecycle-beta { background: #1f5f99; }
.lifecycle-experimental { background: #8a3ffc; }
.lifecycle-deprecated { background: #a2191f; }
.response-headers summary { margin: 8px 0; font: 600 12px sans-serif; cursor: pointer; }
.back { display: block; max-width: 1460px; margin: 0 auto; padding: 12px 20px 0; font: 14px sans-serif; color: #1f5f99; }
`;

/**
 * The reference of the REST API: Swagger UI on our own description, with assets of our own.
 *
 * @param apiKey filled in; for development starts only
 * @returns the assets by their paths
 */
export function docsPages(apiKey: string | undefined): [path: string, asset: Asset][] {
  const { resolve } = createRequire(import.meta.url);
  const read = (file: string) => () => readFileSync(resolve(`swagger-ui-dist/${file}`));
  const files = [
    asset('swagger-ui.css', 'text/css; charset=utf-8', read('swagger-ui.css')),
    asset('docs.css', 'text/css; charset=utf-8', () => STYLE),
    asset('swagger-ui.js', 'text/javascript; charset=utf-8', read('swagger-ui-bundle.js')),
    asset('docs.js', 'text/javascript; charset=utf-8', () => SCRIPT),
    asset('icon.png', 'image/png', read('favicon-32x32.png')),
  ] as const;
  const [swaggerStyle, style, swagger, script, icon] = files.map(([path]) => path);
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Petstore REST API</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${swaggerStyle}">
<link rel="stylesheet" href="${style}">
</head>
<body>
<a class="back" href="/">Petstore</a>
<div id="docs" data-openapi="${OPENAPI_PATH}"${apiKey ? ` data-api-key="${escapeHtml(apiKey)}"` : ''}></div>
<noscript>Without JavaScript, read <a href="${OPENAPI_PATH}">the OpenAPI description</a>.</noscript>
<script src="${swagger}"></script>
<script src="${script}"></script>
</body>
</html>
`;
  return [
    ...files,
    [
      DOCS_PATH,
      new Asset({
        contentType: HTML_TYPE,
        content: () => page,
        headers: (html) => pageHeaders(html, SOURCES),
      }),
    ],
  ];
}

/** A file whose path changes with its content. */
function asset(name: string, contentType: string, read: () => string | Buffer): [string, Asset] {
  const [base, extension] = name.split('.');
  const path = `${DOCS_PATH}/${base}-${digestOf(read())}.${extension}`;
  return [path, new Asset({ contentType, content: read, immutable: true })];
}

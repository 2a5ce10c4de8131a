import '../header.ts';
import './docs.css';
import { element, fixWhenAdded, MOUNT } from '../browser.ts';
import { apiKey } from '../key.ts';
import { messageOf, UNREACHABLE } from '../responses.ts';
import { theme } from '../theme.ts';

declare const Scalar: {
  createApiReference(place: Element, options: object): { updateConfiguration(options: object): void };
};

/** Resolves when the script of the reference has run, after this one. */
const scalar = new Promise((resolve, reject) => {
  element('scalar').addEventListener('load', resolve);
  element('scalar').addEventListener('error', () => reject(new Error(UNREACHABLE)));
});
// Information for assistive technology that Scalar 1.72 lacks.
fixWhenAdded({
  // A combobox without a list is a text field.
  '.scalar-app .code-input-lite__editor[role="combobox"]': (field) => {
    field.role = 'textbox';
    field.removeAttribute('aria-autocomplete');
  },
  '.scalar-app .cm-content:not([aria-label])': (editor) => {
    editor.ariaLabel = editor.contentEditable === 'true' ? 'Request body' : 'Response body';
  },
  '.scalar-app button[class*="copy-button"]:not([aria-label])': (button) => {
    button.ariaLabel = 'Copy';
  },
  '.scalar-app button[role="none"]': (button) => button.removeAttribute('role'),
  '.scalar-app [aria-controls]': (control) => {
    if (!document.getElementById(control.getAttribute('aria-controls')!))
      control.removeAttribute('aria-controls');
  },
});

/** Shows the reference in place of the server's plain one. */
async function show(root: HTMLElement): Promise<void> {
  const [response] = await Promise.all([fetch(`${MOUNT}/openapi.json`), scalar]);
  if (!response.ok) throw new Error(messageOf(await response.text(), response));
  const { content, untried } = referenceOf(
    await response.text(),
    (operationId) => root.querySelector<HTMLAnchorElement>(`[id$="/${operationId}"] .to-graphiql`)?.href,
  );
  const plain = root.firstElementChild;
  const place = root.appendChild(document.createElement('div'));
  const configuration = () => ({
    content,
    // Nothing is loaded from other origins or reported to anyone.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: 'never',
    hideClientButton: true,
    // Uses the page's key, so that it is entered only once.
    customFetch(input: RequestInfo | URL, init?: RequestInit) {
      const request = new Request(input, init);
      for (const header of ['Authorization', 'X-API-Key']) request.headers.delete(header);
      return apiKey.fetch(request);
    },
    theme: 'none',
    forceDarkModeState: theme.state,
    orderSchemaPropertiesBy: 'preserve',
    defaultOpenAllTags: true,
    // Hides the button that opens the console.
    customCss: untried
      .map((operationId) => `[id$="/${operationId}"] .show-api-client-button { display: none }`)
      .join('\n'),
    generateTagSlug: ({ name }: { name: string }) => name,
    generateOperationSlug: ({ operationId }: { operationId: string }) => operationId,
    onLoaded: () => {
      plain?.remove();
      element('loading').hidden = true;
    },
  });
  const reference = Scalar.createApiReference(place, configuration());
  theme.subscribe(() => reference.updateConfiguration(configuration()));
  // Scrolls to a linked operation without a reload. Everything above it gets its content and height only as it comes
  // near, so the operation is kept in view until the reader moves.
  const scrollToLinked = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    if (id !== '') place.querySelector(`[id$="${CSS.escape(id)}"]`)?.scrollIntoView();
  };
  const heights = new ResizeObserver(scrollToLinked);
  addEventListener('hashchange', () => {
    heights.observe(place);
    scrollToLinked();
  });
  for (const move of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
    addEventListener(move, () => heights.disconnect(), { passive: true });
}

const loading = element('loading');
loading.hidden = false;
await show(element('docs')).catch((error: Error) => {
  loading.textContent = `The reference has not loaded; below is the list of operations. ${error.message}`;
});

type Json = Record<string, unknown>;

interface Description {
  paths: Record<string, Record<string, Json>>;
  components: { parameters: Record<string, Json> };
}

/**
 * Prepares the OpenAPI description for people, with exact limits, badges for stability and sunset, and a link to the
 * same operation in GraphiQL.
 *
 * @param text the OpenAPI description as JSON
 * @param linkTo returns the link to GraphiQL for an operationId
 * @returns the description to show, and the operationIds without a try-it panel
 */
function referenceOf(text: string, linkTo: (operationId: string) => string | undefined) {
  const content = JSON.parse(text, limitInWords) as Description;
  const operations = Object.values(content.paths).flatMap((methods) => Object.values(methods));
  // Examples would be sent, and the same Idempotency-Key makes a second call a replay.
  for (const parameter of Object.values(content.components.parameters)) delete parameter.examples;
  const untried: string[] = [];
  for (const operation of operations) {
    const operationId = String(operation.operationId);
    const { 'x-stability': stability, 'x-sunset': sunset, 'x-explorer-enabled': isTried = true } = operation;
    operation['x-badges'] = [
      ...(stability === 'stable' ? [] : [{ name: stability, color: '#6929c4' }]),
      ...(sunset === undefined ? [] : [{ name: `sunset ${sunset}`, color: '#a2191f' }]),
    ];
    if (!isTried) untried.push(operationId);
    const link = linkTo(operationId);
    operation.description = [
      !isTried &&
        '**The specification disables the try-it panel for this operation. Use a request sample instead.**',
      operation.description,
      link && `[Open in GraphiQL](${link})`,
    ]
      .filter(Boolean)
      .join('\n\n');
  }
  return { content, untried };
}

/** A `JSON.parse` reviver that moves the limit of int64 to the description, because it would be rounded. */
function limitInWords(this: Json, name: string, value: unknown): unknown {
  if (name !== 'maximum' || Number.isSafeInteger(value)) return value;
  const limit = `Up to ${2n ** 63n - 1n}.`;
  this.description = this.description === undefined ? limit : `${this.description}. ${limit}`;
  return undefined;
}

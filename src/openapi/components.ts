import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema } from '../foundation/fields.ts';

const KINDS = ['schemas', 'parameters', 'headers', 'responses'] as const;
export type ComponentKind = (typeof KINDS)[number];

/** The shared components of the description, collected as it is built. */
export class Components {
  readonly #parts = new Map<ComponentKind, Map<string, JsonSchema>>(KINDS.map((kind) => [kind, new Map()]));

  /**
   * Adds a component unless it exists.
   *
   * @param part the component, or a function that creates it if there is none of this name
   * @returns a reference to it
   * @throws Error if there is a different one of this name
   */
  add(kind: ComponentKind, name: string, part: JsonSchema | (() => JsonSchema)): JsonSchema {
    const parts = this.#parts.get(kind)!;
    const added = parts.get(name);
    if (added === undefined) parts.set(name, typeof part === 'function' ? part() : part);
    else if (typeof part !== 'function' && !isDeepStrictEqual(part, added))
      throw new Error(`Two of the ${kind} are called ${name}`);
    return refTo(kind, name);
  }

  /** All components, sorted by name. */
  toJson(): JsonSchema {
    return Object.fromEntries(
      [...this.#parts].map(([kind, parts]) => [
        kind,
        Object.fromEntries([...parts].sort(([a], [b]) => (a < b ? -1 : 1))),
      ]),
    );
  }
}

export const refTo = (kind: ComponentKind, name: string): JsonSchema => ({
  $ref: `#/components/${kind}/${name}`,
});

/** The response headers in OpenAPI. Every response has the first six. */
const HEADERS = {
  'X-Request-Id': {
    description: 'Identifies the request, also in the log. Yours is used if you send a safe one.',
    schema: { type: 'string', minLength: 1 },
  },
  'X-RateLimit-Limit': {
    description:
      'Requests allowed in the window with the smaller remainder; on a 429, in the window that refused.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left in that window.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-RateLimit-Reset': {
    description: 'When that window resets, in Unix seconds.',
    schema: { type: 'integer', format: 'int64', minimum: 0 },
  },
  'RateLimit-Policy': {
    description: 'The windows: quota `q` per `w` seconds (draft-ietf-httpapi-ratelimit-headers-11).',
    schema: { type: 'string', pattern: '^"\\w+";q=\\d+;w=\\d+(, "\\w+";q=\\d+;w=\\d+)*$' },
  },
  RateLimit: {
    description: 'What is left of each window: `r` requests, reset in `t` seconds.',
    schema: { type: 'string', pattern: '^"\\w+";r=\\d+;t=\\d+(, "\\w+";r=\\d+;t=\\d+)*$' },
  },
  ETag: {
    description: 'The version of the representation.',
    schema: { type: 'string', pattern: '^"[!#-~]+"$' },
  },
  'Cache-Control': {
    description: 'The response is private and must be revalidated before reuse.',
    schema: { type: 'string' },
  },
  Vary: {
    description: 'The request headers that select the response.',
    schema: { type: 'string' },
  },
  Link: {
    description:
      'Related resources (RFC 8288): the next page of a list, or the successor of a deprecated operation.',
    schema: { type: 'string', pattern: '^<[^>]*>; rel="[a-z-]+"(, <[^>]*>; rel="[a-z-]+")*$' },
  },
  Location: {
    description: 'Where the new record is: its path, or its URL if the gateway is configured with one.',
    schema: { type: 'string', pattern: '^(https?:/)?/' },
  },
  'Retry-After': {
    description: 'Whole seconds until a retry can succeed.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 9110 section 11.6.1).',
    schema: { type: 'string' },
  },
  Deprecation: {
    description: 'When the operation became deprecated: `@` and Unix seconds (RFC 9745).',
    schema: { type: 'string', pattern: '^@\\d+$' },
  },
  Sunset: {
    description: 'When the operation stops working (RFC 8594).',
    schema: { type: 'string', pattern: ' GMT$' },
  },
  'Idempotency-Replayed': {
    description:
      'Present and `true` if this is the outcome of an earlier call with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'X-Accel-Buffering': {
    description: 'Tells nginx not to buffer the stream.',
    schema: { type: 'string', enum: ['no'] },
  },
} as const satisfies Record<string, JsonSchema>;

type HeaderName = keyof typeof HEADERS;

const EVERYWHERE = Object.keys(HEADERS).slice(0, 6) as HeaderName[];
/** Headers that are always present where described. */
const REQUIRED: ReadonlySet<HeaderName> = new Set([...EVERYWHERE, 'Location', 'WWW-Authenticate']);
/** The headers of responses to reads. */
export const CACHING = ['Cache-Control', 'Vary'] as const satisfies HeaderName[];
/** The headers of most responses of a deprecated operation. */
export const LIFECYCLE = ['Deprecation', 'Sunset', 'Link'] as const satisfies HeaderName[];

/**
 * Describes the headers of a response, as references to shared components.
 *
 * @param names headers besides those of every response; false and undefined are ignored
 */
export const describeHeaders = (
  components: Components,
  ...names: readonly (HeaderName | false | undefined)[]
): JsonSchema =>
  Object.fromEntries(
    [...EVERYWHERE, ...names]
      .filter((name) => name !== false && name !== undefined)
      .map((name) => [
        name,
        components.add('headers', name, { ...(REQUIRED.has(name) && { required: true }), ...HEADERS[name] }),
      ]),
  );

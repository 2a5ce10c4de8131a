import { RECORDS } from '../domains/index.ts';
import { ERRORS, type ErrorCode } from '../foundation/errors.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import { type AnyRecord, holdersOf, referencesOf } from '../foundation/record.ts';
import { acceptsIdempotencyKey, type Route } from '../rows/route.ts';
import { type Components, refTo } from './components.ts';
import { caching, describeHeaders, lifecycle } from './headers.ts';

/** The record that an operation is about; undefined if it is about something else. */
export const recordOfKind = (kind: string | undefined): AnyRecord | undefined =>
  RECORDS.find((record) => record.kind === kind);

/** The parts of an operation that determine its errors. */
type Fallible = Pick<Route, 'method' | 'body' | 'pathParameter' | 'pathValue' | 'deprecation' | 'errors'> &
  Partial<Pick<Route, 'kind'>>;

/** Every error an operation can respond with: those of HTTP and the gateway, and those of its domain. */
export function errorsOf({
  method,
  body,
  pathParameter,
  pathValue,
  deprecation,
  kind,
  errors = [],
}: Fallible): ErrorCode[] {
  const idempotent = acceptsIdempotencyKey(method);
  const record = recordOfKind(kind);
  const given = Object.keys(body?.rules.shape ?? {});
  const isGiven = (field: string) => given.includes(field);
  const possible: Partial<Record<ErrorCode, boolean>> = {
    BAD_REQUEST: true,
    VALIDATION_FAILED: true,
    UNAUTHENTICATED: true,
    API_KEY_BANNED: true,
    FORBIDDEN: true,
    NOT_FOUND: pathParameter !== undefined && pathValue?.namesRecord !== false,
    NOT_ACCEPTABLE: true,
    CONFLICT:
      idempotent ||
      (method === 'DELETE' && record !== undefined && holdersOf(record).length > 0) ||
      (record?.unique.some((fields: readonly string[]) => fields.some(isGiven)) ?? false),
    UNKNOWN_REFERENCE: record !== undefined && referencesOf(record).some(({ field }) => isGiven(field)),
    GONE: deprecation !== undefined,
    PRECONDITION_FAILED: method === 'PUT' || method === 'PATCH' || method === 'DELETE',
    PAYLOAD_TOO_LARGE: body !== undefined,
    UNSUPPORTED_MEDIA_TYPE: body !== undefined,
    IDEMPOTENCY_KEY_REUSED: idempotent,
    RATE_LIMITED: true,
    INTERNAL: true,
    UNAVAILABLE: true,
  };
  return (Object.keys(ERRORS) as ErrorCode[]).filter((code) => possible[code] || errors.includes(code));
}

/** Refused before routing, so the response has none of the operation's headers. */
const BEFORE_ROUTING = new Set<number>([401, 429]);

/** The error responses of an operation, by status. */
export function describeErrors(route: Fallible, components: Components): Record<string, JsonSchema> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route)) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, describeError(status, codes, route, components)]),
  );
}

function describeError(
  status: number,
  codes: readonly ErrorCode[],
  { method, deprecation }: Fallible,
  components: Components,
): JsonSchema {
  const mayRun = acceptsIdempotencyKey(method) && status === 409;
  const lasting = deprecation !== undefined && !BEFORE_ROUTING.has(status);
  const name = `${codes.map(pascal).join('Or')}${mayRun ? 'OrRunning' : ''}${lasting ? 'OfDeprecated' : ''}`;
  return components.add('responses', name, () => {
    const isPassing = status === 429 || status === 503;
    // Of what is forbidden only a ban ends, and of conflicts only a call that still runs.
    const mayPass = status === 403 || mayRun;
    const headers = describeHeaders(components, {
      ...caching(false),
      'WWW-Authenticate': status === 401 || undefined,
      'Retry-After': isPassing || (mayPass ? false : undefined),
      ...(lasting && lifecycle(status < 500 && status !== 403)),
    });
    return {
      description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}`).join('\n\n'),
      headers,
      content: {
        'application/json': {
          schema: refTo('schemas', 'Error'),
          examples: Object.fromEntries(
            codes.map((code) => [
              code,
              { summary: ERRORS[code].when, value: { code, message: ERRORS[code].when, status } },
            ]),
          ),
        },
      },
    };
  });
}

/** Converts `NOT_FOUND` to `NotFound`. */
const pascal = (code: string): string =>
  code
    .split('_')
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join('');

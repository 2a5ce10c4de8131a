import { type ChangeKind, ERRORS, type ErrorCode } from '../foundation/errors.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import { referencesOf, refusalsOf } from '../foundation/record.ts';
import { acceptsIdempotencyKey, type Route, type ServedRoute } from '../rest-routes/route.ts';
import { type Components, refTo, CACHING, describeHeaders, LIFECYCLE } from './components.ts';

/** The kind of change that an operation makes to a record; undefined for reads. */
export const changeOf = ({ method, pathParameter }: Route): ChangeKind | undefined => {
  if (method === 'GET') return undefined;
  if (method === 'DELETE') return 'deletion';
  return pathParameter === undefined ? 'creation' : 'update';
};

/** All errors of an operation: those of HTTP, the gateway and the domain. */
export function errorsOf(route: ServedRoute): ErrorCode[] {
  const { method, body, pathParameter, pathValue, deprecation, record, blockers } = route;
  const idempotent = acceptsIdempotencyKey(method);
  const change = changeOf(route);
  const refusals = record && change ? refusalsOf(record, change) : [];
  const errors = [...(route.errors ?? []), ...refusals.map(({ code }) => code)];
  const accepted = Object.keys(body?.rules.shape ?? {});
  const isAccepted = (field: string) => accepted.includes(field);
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
      (method === 'DELETE' && blockers.length > 0) ||
      (record?.unique.some((fields: readonly string[]) => fields.some(isAccepted)) ?? false),
    UNKNOWN_REFERENCE: record !== undefined && referencesOf(record).some(({ field }) => isAccepted(field)),
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

/** The statuses of errors that may be temporary, such as 403 for a ban and 409 for a call that is still running. */
const PASSING: readonly number[] = [403, 409, 429, 503];

/** The error responses of an operation, by status. */
export function describeErrors(route: ServedRoute, components: Components): Record<string, JsonSchema> {
  const possible = errorsOf(route);
  const statuses = new Set(possible.map((code) => ERRORS[code].status));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const codes = possible.filter((code) => ERRORS[code].status === status);
      const response = {
        description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}`).join('\n\n'),
        headers: describeHeaders(
          components,
          ...CACHING,
          status === 401 && 'WWW-Authenticate',
          PASSING.includes(status) && 'Retry-After',
          ...(route.deprecation ? LIFECYCLE : []),
        ),
        content: { 'application/json': { schema: refTo('schemas', 'Error'), examples: examplesOf(codes) } },
      };
      // Responses of deprecated operations have more headers and aren't shared.
      const name = codes.map(pascal).join('Or');
      return [status, route.deprecation ? response : components.add('responses', name, response)];
    }),
  );
}

const examplesOf = (codes: readonly ErrorCode[]): JsonSchema =>
  Object.fromEntries(
    codes.map((code) => {
      const { status, when } = ERRORS[code];
      return [code, { summary: when, value: { code, message: when, status } }];
    }),
  );

/** Converts `NOT_FOUND` to `NotFound`. */
const pascal = (code: string): string =>
  code
    .split('_')
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join('');

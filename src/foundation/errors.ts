/** All errors: the single source of REST bodies, GraphQL `extensions`, OpenAPI responses and tests. */
export const ERRORS = {
  BAD_REQUEST: {
    status: 400,
    when: 'The request is malformed: invalid JSON, a body that is not an object, or an invalid encoding.',
  },
  VALIDATION_FAILED: {
    status: 400,
    when: 'A field, path parameter or query parameter is invalid; the message lists all of them.',
  },
  GRAPHQL_PARSE_FAILED: { status: 400, when: 'The GraphQL document has a syntax error.' },
  GRAPHQL_VALIDATION_FAILED: { status: 400, when: 'The GraphQL document is not valid for the schema.' },
  QUERY_TOO_COMPLEX: { status: 400, when: 'The GraphQL operation is too expensive, too deep or too long.' },
  UNAUTHENTICATED: { status: 401, when: 'The API key is missing or not valid.' },
  API_KEY_BANNED: { status: 403, when: 'The API key is temporarily banned; Retry-After says for how long.' },
  FORBIDDEN: {
    status: 403,
    when: 'The API key does not permit this: it lacks a scope, or the address or the GraphQL document is not one of its own.',
  },
  NOT_FOUND: { status: 404, when: 'The resource or path does not exist.' },
  PERSISTED_QUERY_NOT_FOUND: {
    status: 404,
    when: 'No GraphQL document with this hash is known; send the document along with the hash.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    when: 'The path does not support this method; Allow lists those it does.',
  },
  NOT_ACCEPTABLE: { status: 406, when: 'The Accept header excludes every media type that the path offers.' },
  CONFLICT: {
    status: 409,
    when: 'The resource is still in use, its id is taken, the plan allows no more, or an idempotent call is still running.',
  },
  GONE: {
    status: 410,
    when: 'The operation is past its sunset date, or the requested events are no longer kept.',
  },
  PRECONDITION_FAILED: { status: 412, when: 'If-Match does not name the current version of the resource.' },
  PAYLOAD_TOO_LARGE: { status: 413, when: 'The body exceeds 100 kB, or the batch exceeds 10 operations.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, when: 'The operation does not accept this Content-Type.' },
  UNKNOWN_REFERENCE: { status: 422, when: 'A field of the body refers to a record that does not exist.' },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    when: 'The Idempotency-Key was already used with a different payload.',
  },
  RATE_LIMITED: {
    status: 429,
    when: 'A limit of the plan or of the burst guard is reached; Retry-After says how long to wait.',
  },
  INTERNAL: { status: 500, when: 'Something went wrong on our side.' },
  UNAVAILABLE: { status: 503, when: 'The database cannot be reached; Retry-After says how long to wait.' },
} as const satisfies Record<string, { status: number; when: string }>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * An error that clients may see. Any other error is masked as `INTERNAL`. graphql-js copies `extensions` into the
 * GraphQL error.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  /** Seconds until a retry can succeed, as an integer (Retry-After); undefined if unknown. */
  readonly retryAfter: number | undefined;
  /** One problem per invalid part of the input, for forms. */
  readonly fields: readonly Issue[] | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryAfter?: number; fields?: readonly Issue[]; cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
    this.retryAfter = options.retryAfter;
    this.fields = options.fields;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get extensions(): { code: ErrorCode; status: number; fields?: readonly Issue[] } {
    const { code, status, fields } = this;
    return fields ? { code, status, fields } : { code, status };
  }

  /** The specification's Error object. */
  toPublic() {
    const { code, message, status } = this;
    return { code, message, status };
  }
}

/** True if the database could not be reached. */
export const isUnavailable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'UNAVAILABLE';

/** True if the error is the caller's fault rather than the server's. */
export const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && error.status < 500;

/** An error that has already been logged if the fault is ours. */
export class ReportedError extends AppError {}

/** True if the fault is ours and has not been logged yet. */
export const isUnreported = (error: unknown): boolean =>
  !isRefusal(error) && !(error instanceof ReportedError);

/** Converts any error to one that clients may see: itself if meant for them, else `INTERNAL`. */
export const asAppError = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError('INTERNAL', ERRORS.INTERNAL.when);

/** The reason for an error, for the operator, instead of the message for clients. */
export function explained(error: unknown): string {
  const reason = error instanceof AppError ? (error.cause ?? error) : error;
  return reason instanceof Error ? reason.message : String(reason);
}

/** The reason a file can't be used, for the operator. */
export const fileFault = (error: unknown): string =>
  (error as { code?: unknown }).code === 'ENOENT' ? 'there is no such file' : (error as Error).message;

/** @param kind the name of a record: `pet` */
export const notFound = (kind: string, id: string) =>
  new AppError('NOT_FOUND', `There is no ${kind} ${cut(id)}.`);

/** @param faults for example `petId: there is no pet 7` */
export const unknownReferences = (faults: readonly string[]) =>
  new AppError('UNKNOWN_REFERENCE', `${faults.join('; ')}.`);

export const tooManyKeys = (max: number) =>
  new AppError('CONFLICT', `A key has at most ${max} keys of its own. Delete one first.`);

export const idempotencyKeyReused = () =>
  new AppError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was already used with a different operation or payload.',
  );

export const unavailable = (cause?: unknown) =>
  new AppError('UNAVAILABLE', 'The database cannot be reached. Please try again.', { retryAfter: 1, cause });

/** One problem with the input: where (`name`, `input.status`, `limit`) and what. */
export interface Issue {
  path: string;
  message: string;
}

/** The maximum number of issues in an error, and of errors in a response. */
export const MAX_LISTED_ISSUES = 20;

const CONTROL = /\p{Cc}/gu;

/**
 * Makes a name or value from a request safe to repeat in a message: shortens it, since it may be as long as a body, and
 * replaces control characters, which a terminal would obey.
 */
export function cut(value: string, max = 100): string {
  const text = value.replace(CONTROL, '\ufffd');
  if (text.length <= max) return text;
  // A character has at most two UTF-16 code units.
  const characters = Array.from(text.slice(0, 2 * max + 2));
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
}

/** Shortens a library's message that repeats input: each quoted name or value, then the whole. */
export const clipped = (message: string): string =>
  cut(
    message.replace(/"[^"]{101,}"/gu, (quoted) => `"${cut(quoted.slice(1, -1))}"`),
    500,
  );

/** One issue per unknown name; the first lists the valid names. */
export const unknownNames = (names: readonly string[], what: string, allowed?: readonly string[]): Issue[] =>
  names.map((path, n) => {
    const those =
      allowed && n === 0
        ? ` (${allowed.length > 0 ? `known: ${allowed.join(', ')}` : 'there are none'})`
        : '';
    return { path, message: `is not a known ${what}${those}` };
  });

/** A VALIDATION_FAILED error with the first {@link MAX_LISTED_ISSUES} issues. */
export function validationFailed(issues: readonly Issue[]): AppError {
  const fields = issues
    .slice(0, MAX_LISTED_ISSUES)
    .map(({ path, message }) => ({ path: cut(path), message: clipped(message) }));
  const texts = fields.map(({ path, message }) => `${path}: ${message}`);
  return new AppError('VALIDATION_FAILED', `${texts.join('; ')}.`, { fields });
}

export const eventsGone = () =>
  new AppError(
    'GONE',
    'The events after this position are no longer kept. Read the current state and continue from now.',
  );

/** The error for a position that is no event's id in this log. @param path the argument with the position */
export const unknownEvent = (path: 'after' | 'before') =>
  validationFailed([{ path, message: 'must be the id of an event of this log' }]);

export type ChangeKind = 'creation' | 'update' | 'deletion';

interface RefusalOptions<A extends unknown[]> {
  /** Completes "Refused while": `its pet is sold`. */
  while: string;
  /** The kinds of change that are refused; defaults to all. */
  of?: readonly ChangeKind[];
  /** Defaults to CONFLICT. */
  code?: ErrorCode;
  message(...args: A): string;
}

/** A function that creates a refusal's error. Descriptions of operations list it. */
export interface Refusal<A extends unknown[] = never[]> {
  (...args: A): AppError;
  code: ErrorCode;
  of: readonly ChangeKind[];
  description: string;
}

/** Declares a refusal for hooks: `refusal({ while: 'its pet is sold', message: (id: Id) => `Pet ${id} is sold.` })`. */
export const refusal = <A extends unknown[]>({
  code = 'CONFLICT',
  of = ['creation', 'update', 'deletion'],
  message,
  ...options
}: RefusalOptions<A>): Refusal<A> =>
  Object.assign((...args: A) => new AppError(code, message(...args)), {
    code,
    of,
    description: `Refused while ${options.while}.`,
  });

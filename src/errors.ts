/**
 * The single table of errors, from which REST bodies, GraphQL `extensions`, OpenAPI responses and tests are
 * derived.
 */
export const ERRORS = {
  BAD_REQUEST: {
    status: 400,
    when: 'The request is malformed: broken JSON, a body that is not an object, bad encoding.',
  },
  VALIDATION_FAILED: {
    status: 400,
    when: 'A field, path or query parameter breaks its rule; the message names all of them.',
  },
  GRAPHQL_PARSE_FAILED: { status: 400, when: 'The GraphQL document has a syntax error.' },
  GRAPHQL_VALIDATION_FAILED: { status: 400, when: 'The GraphQL document does not fit the schema.' },
  QUERY_TOO_COMPLEX: { status: 400, when: 'The GraphQL operation is too expensive, too deep or too long.' },
  UNAUTHENTICATED: { status: 401, when: 'The request carries no API key, or one that is not valid.' },
  API_KEY_BANNED: { status: 403, when: 'The API key is banned for a while; Retry-After says how long.' },
  NOT_FOUND: { status: 404, when: 'There is no such resource or path.' },
  PERSISTED_QUERY_NOT_FOUND: {
    status: 404,
    when: 'No GraphQL document with this hash is known: send the document along with it.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    when: 'The path does not answer this method; Allow lists those it does.',
  },
  NOT_ACCEPTABLE: { status: 406, when: 'The Accept header excludes JSON.' },
  CONFLICT: {
    status: 409,
    when: 'The resource is still used, its id is taken, or an idempotent call is still running.',
  },
  GONE: {
    status: 410,
    when: 'The operation is past its sunset date, or the events asked for are no longer kept.',
  },
  PRECONDITION_FAILED: { status: 412, when: 'If-Match names another version of the resource.' },
  PAYLOAD_TOO_LARGE: { status: 413, when: 'The body is over 100 kB, or a batch over 10 operations.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, when: 'The Content-Type is not one that this operation reads.' },
  UNKNOWN_REFERENCE: { status: 422, when: 'The categoryId or petId of the body names nothing.' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, when: 'The Idempotency-Key was used before with another payload.' },
  RATE_LIMITED: {
    status: 429,
    when: 'The limit of the plan or the burst guard is reached; Retry-After says how long to wait.',
  },
  INTERNAL: { status: 500, when: 'Something failed on our side.' },
  UNAVAILABLE: { status: 503, when: 'The database cannot be reached; Retry-After says when to try again.' },
} as const satisfies Record<string, { status: number; when: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** The specification's Error object, as clients see it. */
export interface PublicError {
  code: ErrorCode;
  message: string;
  status: number;
}

/**
 * An error that clients may see. Any other error is masked as `INTERNAL`. graphql-js copies `extensions` into
 * the GraphQL error.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  /** Whole seconds until a retry can succeed (Retry-After), if known. */
  readonly retryAfter: number | undefined;
  /** What is wrong with each part of the input, for forms. */
  readonly fields: readonly Issue[] | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryAfter?: number; fields?: readonly Issue[]; cause?: unknown } = {},
  ) {
    // A client's mistake needs no stack trace, and capturing one would be a quarter of the cost of a refusal.
    const { stackTraceLimit } = Error;
    if (ERRORS[code].status < 500) Error.stackTraceLimit = 0;
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
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

  toPublic(): PublicError {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** @param kind the name of a record: `pet` */
export const notFound = (kind: string, id: string) => new AppError('NOT_FOUND', `There is no ${kind} ${id}.`);

/** @param field the field that refers to a record of this kind */
export const unknownReference = (field: string, kind: string, id: string) =>
  new AppError('UNKNOWN_REFERENCE', `${field}: there is no ${kind} ${id}.`);

export const idempotentCallRunning = () =>
  new AppError('CONFLICT', 'A call with this Idempotency-Key is still running.', { retryAfter: 1 });

export const idempotencyKeyReused = () =>
  new AppError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was used before with another operation or payload.',
  );

export const unavailable = (cause?: unknown) =>
  new AppError('UNAVAILABLE', 'The database cannot be reached. Please try again.', { retryAfter: 1, cause });

/** One problem with the input: where (`name`, `input.status`, `limit`) and what. */
export interface Issue {
  path: string;
  message: string;
}

/** Issues listed in an error. The rest are only counted. */
export const MAX_LISTED_ISSUES = 20;

/** Summarises the issues that are not listed. */
export const unlistedIssues = (count: number) => `and ${count.toLocaleString('en-US')} more`;

/** Names and values come from clients and may be as long as a body. */
const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`;

/**
 * A VALIDATION_FAILED error that lists the issues.
 *
 * @param count total number of issues, if not all are given
 */
export function validationFailed(issues: readonly Issue[], count = issues.length): AppError {
  const named = issues
    .slice(0, MAX_LISTED_ISSUES)
    .map(({ path, message }) => ({ path: truncate(path, 100), message: truncate(message, 200) }));
  const texts = named.map(({ path, message }) => `${path}: ${message}`);
  if (count > named.length) texts.push(unlistedIssues(count - named.length));
  return new AppError('VALIDATION_FAILED', `${texts.join('; ')}.`, { fields: named });
}

export const eventsGone = () =>
  new AppError(
    'GONE',
    'The events that follow this position are no longer kept. Read what there is, and go on from now.',
  );

/** @param why what the database lacks */
export const noEventLog = (why: string) => new AppError('NOT_FOUND', `There is no log of changes: ${why}.`);

/** An `after` that is not the id of any event in this log. */
export const unknownEvent = () =>
  validationFailed([{ path: 'after', message: 'must be the id of an event of this log' }]);

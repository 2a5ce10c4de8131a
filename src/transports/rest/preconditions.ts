import { AppError, validationFailed } from '../../foundation/errors.ts';
import { etagOf, matchesStrongly } from '../../http/etag.ts';
import type { Precondition } from '../../kit/context.ts';
import { formOf, writeRecord } from '../../operations/representation.ts';

/**
 * The If-Match precondition (RFC 9110 section 13.1.1), checked by the store atomically with the write. The
 * ETag of either int64 format matches: both describe the same record, and a DELETE has no Accept header to
 * tell which one the client saw.
 */
export function preconditionOf(ifMatch: string): Precondition {
  const matches = (body: string) => matchesStrongly(ifMatch, etagOf(body));
  return (type, record) => {
    const form = formOf(type, record);
    if (!matches(writeRecord(type, 'integer', form)) && !matches(writeRecord(type, 'string', form))) {
      throw new AppError(
        'PRECONDITION_FAILED',
        'If-Match does not name the current version of the resource.',
      );
    }
  };
}

/** Requires that fields which the body may only repeat are unchanged. */
export function requireRepeated(
  precondition: Precondition | undefined,
  names: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Precondition | undefined {
  const repeated = names.filter((name) => Object.hasOwn(body, name));
  if (repeated.length === 0) return precondition;
  return (type, record) => {
    precondition?.(type, record);
    const form = formOf(type, record);
    const others = repeated.filter((name) => form[name] !== body[name]);
    if (others.length > 0) {
      throw validationFailed(others.map((path) => ({ path, message: 'cannot be changed here' })));
    }
  };
}

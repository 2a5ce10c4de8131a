import type { IncomingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'lossless-json';
import { AppError, validationFailed } from '../../foundation/errors.ts';
import { asObject, parseJson } from '../../http/parse-json.ts';
import { isObject } from '../../schema/json-text.ts';
import { etagOf, namesTag } from '../../http/response.ts';
import type { Precondition } from '../../schema/context.ts';
import { shapeWriter } from '../../rest-routes/representation.ts';
import { representedAs, type Shape } from '../../rest-routes/shape.ts';

/** The JSON of a stored record in the shape of a GraphQL type. */
function shownAs(type: string, record: object, shapes: readonly Shape[]): string {
  const shape = shapes.find((candidate) => candidate.type === type)!;
  return shapeWriter(shape, 'integer').one(representedAs(shape, record as Record<string, unknown>));
}

/** `*`, or a list of entity tags (RFC 9110 section 13.1.1). */
const TAGS = /^\s*(?:\*|(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*)\s*$/;

/**
 * The preconditions of a write (RFC 9110 sections 13.1.1 and 13.1.2), which the store checks atomically with the write.
 *
 * @param shapes the shapes of records, by GraphQL type
 * @returns undefined if the request has none
 * @throws VALIDATION_FAILED for malformed entity tags
 */
export function preconditionOf(
  headers: IncomingHttpHeaders,
  shapes: readonly Shape[],
): Precondition | undefined {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match === undefined && noneMatch === undefined) return undefined;
  const issues = Object.entries({ 'If-Match': match, 'If-None-Match': noneMatch })
    .filter(([, value]) => value !== undefined && !TAGS.test(value))
    .map(([path]) => ({ path, message: 'must be an ETag with its quotes, such as "abc", or *' }));
  if (issues.length > 0) throw validationFailed(issues);
  return (type, record) => {
    const tag = etagOf(shownAs(type, record, shapes));
    if (match !== undefined && !namesTag(match, tag))
      throw new AppError(
        'PRECONDITION_FAILED',
        'If-Match does not name the current version of the resource. Read it again and repeat the change with its new ETag.',
      );
    if (noneMatch !== undefined && namesTag(noneMatch, tag))
      throw new AppError('PRECONDITION_FAILED', 'If-None-Match names the current version of the resource.');
  };
}

/** True if two JSON values are equal. Numbers are compared by their digits, since not all are parsed alike. */
const isSameJson = (one: unknown, other: unknown): boolean =>
  isObject(one) ? isDeepStrictEqual(one, other) : stringify(one) === stringify(other);

/** Adds the requirement that fields which the body may only repeat are unchanged. */
export function alsoUnchanged(
  precondition: Precondition | undefined,
  names: readonly string[],
  body: Readonly<Record<string, unknown>>,
  shapes: readonly Shape[],
): Precondition | undefined {
  const repeated = names.filter((name) => Object.hasOwn(body, name));
  if (repeated.length === 0) return precondition;
  return (type, record) => {
    precondition?.(type, record);
    const shown = asObject(parseJson(Buffer.from(shownAs(type, record, shapes))));
    const changed = repeated.filter((name) => !isSameJson(shown[name], body[name]));
    if (changed.length > 0)
      throw validationFailed(changed.map((path) => ({ path, message: 'cannot be changed here' })));
  };
}

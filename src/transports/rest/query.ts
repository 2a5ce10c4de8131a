import { AppError, type Issue } from '../../foundation/errors.ts';
import { type QueryParameter, readTexts } from '../../schema/parameter.ts';

/**
 * Reads a query string, given without its `?`, into variables.
 *
 * @param issues collects unknown, invalid and repeated parameters
 * @throws BAD_REQUEST if the percent-encoding is broken
 */
export function readQuery(
  query: string,
  parameters: readonly QueryParameter[],
  issues: Issue[],
): Record<string, unknown> {
  if (query === '') return {};
  const given = new Map<string, string[]>();
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    const values = given.get(name);
    if (values) values.push(value);
    else given.set(name, [value]);
  }
  return readTexts(given, parameters, issues);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new AppError('BAD_REQUEST', 'The query string is not valid percent-encoded UTF-8.');
  }
}

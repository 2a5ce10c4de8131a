import { AppError, type Issue } from '../../foundation/errors.ts';
import type { QueryParameter } from '../../schema/parameter.ts';

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
  const variables: Record<string, unknown> = {};
  for (const [name, texts] of given) {
    const parameter = parameters.find((known) => known.name === name);
    if (!parameter) {
      issues.push({ path: name, message: 'is not a known query parameter' });
      continue;
    }
    if (texts.length > 1 && !parameter.repeatable) {
      issues.push({ path: name, message: 'must not be repeated' });
      continue;
    }
    if (parameter.repeatable === 'distinct' && new Set(texts).size < texts.length) {
      issues.push({ path: name, message: 'must not have a value twice' });
      continue;
    }
    const values = texts.map((text) => parameter.read(text, given));
    const { rule } = parameter;
    if (values.includes(undefined))
      issues.push({ path: name, message: typeof rule === 'string' ? rule : rule(given) });
    else variables[name] = parameter.repeatable ? values : values[0];
  }
  return variables;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new AppError('BAD_REQUEST', 'The query string is not valid percent-encoded UTF-8.');
  }
}

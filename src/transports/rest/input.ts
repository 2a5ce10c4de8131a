import { withIntegerIds } from '../../execution/representation.ts';
import { AppError, type Issue } from '../../foundation/errors.ts';
import { ID_RULE, parseId } from '../../foundation/id.ts';
import { readBody } from '../../http/body.ts';
import { IDEMPOTENCY_KEY_ISSUE, parseIdempotencyKey } from '../../http/idempotency-key.ts';
import { asObject, parseJson } from '../../http/json.ts';
import { hasParameter } from '../../http/media-type.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { parseInput } from '../../schema/input-rules.ts';
import { type QueryParameter, readTexts } from '../../schema/parameter.ts';
import { acceptsIdempotencyKey, BODY_TYPES, inputOf, type Route } from '../../schema/route.ts';
import { idFieldOf } from '../../schema/shape.ts';

/** What a request passes to its operation: the variables of the document, and any issues with them. */
export interface Input {
  variables: Record<string, unknown>;
  issues: Issue[];
}

/**
 * Reads path, query, headers and body together, so that all issues are reported at once.
 *
 * @param parameters path parameters
 * @param body of a route that has one
 * @param repeatable the fields that it may repeat (`repeatableFields`)
 * @throws BAD_REQUEST if the query's percent-encoding is broken
 */
export function readInput(
  context: RequestContext,
  route: Route,
  parameters: Readonly<Record<string, string | undefined>>,
  body?: Readonly<Record<string, unknown>>,
  repeatable: readonly string[] = [],
): Input {
  const issues: Issue[] = [];
  const variables = readQuery(context.query, route.query ?? [], issues);
  if (route.pathParameter) {
    const { rule, read } = route.pathValue ?? ID;
    const value = read(parameters[route.pathParameter]!);
    if (value == null) issues.unshift({ path: route.pathParameter, message: rule });
    variables[route.pathParameter] = value;
  }
  const key = context.headers['idempotency-key'];
  if (key !== undefined && acceptsIdempotencyKey(route.method) && parseIdempotencyKey(key) === null)
    issues.push(IDEMPOTENCY_KEY_ISSUE);
  if (body) {
    const fields = readFields(route, body, repeatable, variables[route.pathParameter!], issues);
    if (route.body!.flat) Object.assign(variables, fields);
    else variables.input = fields;
  }
  return { variables, issues };
}

const ID = { rule: ID_RULE, read: parseId };

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

/** @param id the id in the path, which the body may repeat */
function readFields(
  route: Route,
  body: Readonly<Record<string, unknown>>,
  repeatable: readonly string[],
  id: unknown,
  issues: Issue[],
): object | undefined {
  const given = repeatable.filter((name) => Object.hasOwn(body, name));
  const content = given.length > 0 ? { ...body } : body;
  for (const name of given) {
    delete (content as Record<string, unknown>)[name];
    const { [name]: repeated } = body;
    if (name !== idFieldOf(route.shape!)) {
      const { fields } = route.shape!;
      // Compared with the record when it is written (`requireRepeated`).
      const { error } = fields[name]!.rule?.safeParse(repeated) ?? {};
      if (error) issues.push({ path: name, message: error.issues[0]!.message });
    } else if (typeof repeated === 'string' || parseId(repeated) !== id)
      issues.push({ path: name, message: 'must equal the id in the path' });
  }
  const parsed = parseInput(route.body!.rules, content, issues);
  return parsed && route.method === 'PUT' ? inputOf(route, parsed) : parsed;
}

/**
 * Reads a body with int64 values as integers, even if they came as strings.
 *
 * @throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST unless it is a JSON object
 */
export async function readObject(
  context: RequestContext,
  { method, shape, body: row }: Route,
): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await readBody(context, BODY_TYPES[method]);
  const body = row?.flat && bytes.length === 0 ? {} : asObject(parseJson(bytes));
  const type = context.headers['content-type'];
  return type?.includes(';') && hasParameter(type, 'ieee754compatible=true')
    ? withIntegerIds(shape!, body)
    : body;
}

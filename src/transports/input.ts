import { AppError, type Issue, validationFailed } from '../foundation/errors.ts';
import { ID_RULE, parseId } from '../foundation/id.ts';
import { readBody } from '../http/body.ts';
import { IDEMPOTENCY_KEY_ISSUE, parseIdempotencyKey } from '../http/idempotency-key.ts';
import { asObject, parseJson } from '../http/parse-json.ts';
import type { RequestContext } from '../http/request-context.ts';
import { parseInput } from '../schema/input-rules.ts';
import { brokenRule, type ParameterTexts, readTexts } from '../rest-routes/parameter.ts';
import {
  acceptsIdempotencyKey,
  bodyTypesOf,
  hasOwnVariables,
  inputOf,
  type Route,
} from '../rest-routes/route.ts';
import { idFieldOf, type Shape } from '../rest-routes/shape.ts';

/** The variables of a document. */
export type Variables = Record<string, unknown>;

/**
 * Validates path, query, headers and body together, so that all issues are reported at once.
 *
 * @param parameters the path parameters
 * @param body the body, if the route has one
 * @param repeatable the fields that the body may repeat (`repeatableFields`)
 * @throws VALIDATION_FAILED, BAD_REQUEST for broken percent-encoding in the query
 */
export function readInput(
  context: RequestContext,
  route: Route,
  parameters: Readonly<Record<string, string | undefined>>,
  body?: Readonly<Record<string, unknown>>,
  repeatable: readonly string[] = [],
): Variables {
  const issues: Issue[] = [];
  const { query } = context;
  const isRead = query !== '' || route.query?.some(({ required }) => required);
  const variables = isRead ? readTexts(textsIn(query), route.query ?? [], issues) : {};
  if (route.pathParameter) readPathParameter(route, parameters[route.pathParameter], variables, issues);
  const key = context.headers['idempotency-key'];
  if (key !== undefined && acceptsIdempotencyKey(route.method) && parseIdempotencyKey(key) === null)
    issues.push(IDEMPOTENCY_KEY_ISSUE);
  if (body) readFields(route, body, repeatable, variables, issues);
  if (issues.length > 0) throw validationFailed(issues);
  return variables;
}

const ID = { rule: ID_RULE, read: parseId };

/** Reads the path parameter of a route into its variable. @param text undefined if it is missing */
export function readPathParameter(
  { pathParameter, pathValue }: Route,
  text: string | undefined,
  variables: Variables,
  issues: Issue[],
): void {
  const declared = pathValue ?? ID;
  const value = text === undefined ? undefined : declared.read(text);
  if (value == null) {
    const message = text === undefined ? 'is required' : brokenRule(declared, text);
    issues.unshift({ path: pathParameter!, message });
  }
  variables[pathParameter!] = value;
}

/** The parameters in a query string, by name. @throws BAD_REQUEST for broken percent-encoding */
export function textsIn(query: string): ParameterTexts {
  try {
    // URLSearchParams would accept broken percent-encoding.
    decodeURIComponent(query);
  } catch {
    throw new AppError('BAD_REQUEST', 'The query string is not valid percent-encoded UTF-8.');
  }
  const texts = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(`?${query}`)) {
    const values = texts.get(name);
    if (values) values.push(value);
    else texts.set(name, [value]);
  }
  return texts;
}

/** Reads a body into variables, which must have the path parameter. @param repeatable the fields that it may repeat */
export function readFields(
  route: Route,
  body: Readonly<Record<string, unknown>>,
  repeatable: readonly string[],
  variables: Variables,
  issues: Issue[],
): void {
  const present = repeatable.filter((name) => Object.hasOwn(body, name));
  const content = present.length > 0 ? { ...body } : body;
  for (const name of present) {
    delete (content as Record<string, unknown>)[name];
    const { [name]: repeated } = body;
    if (name !== idFieldOf(route.shape!)) {
      const { fields } = route.shape!;
      // The value is compared with the record's when that is written (`requireRepeated`).
      const { error } = fields[name]!.rule?.().safeParse(repeated) ?? {};
      if (error) issues.push({ path: name, message: error.issues[0]!.message });
    } else if (idIn(route.shape!, repeated) !== variables[route.pathParameter!])
      issues.push({ path: name, message: 'must equal the id in the path' });
  }
  const parsed = parseInput(route.body!.rules, content, issues);
  if (hasOwnVariables(route)) Object.assign(variables, parsed);
  else variables.input = parsed && route.method === 'PUT' ? inputOf(route, parsed) : parsed;
}

/** The id in a body: an integer, unless ids of the shape are opaque text. */
function idIn(shape: Shape, value: unknown): unknown {
  if (shape.fields[idFieldOf(shape)]!.kind !== 'int64') return value;
  return typeof value === 'string' ? undefined : parseId(value);
}

/** Reads a body. @throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST unless it is a JSON object */
export async function readObject(
  context: RequestContext,
  route: Route,
): Promise<Readonly<Record<string, unknown>>> {
  const isOptional = hasOwnVariables(route);
  // Clients such as aiohttp name the type even of no body.
  if (isOptional && context.headers['content-length'] === '0') return {};
  const bytes = await readBody(context, bodyTypesOf(route.method));
  return bytes.length === 0 && isOptional ? {} : asObject(parseJson(bytes));
}

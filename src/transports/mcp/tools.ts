import { lexicographicSortSchema, printSchema } from 'graphql';
import type { Principal } from '../../access/api-keys.ts';
import { permits } from '../../access/scopes.ts';
import type { Session } from '../../access/session.ts';
import type { EventStreams } from '../../events/streams.ts';
import { AppError, type ErrorCode, type Issue, validationFailed } from '../../foundation/errors.ts';
import type { JsonSchema } from '../../foundation/fields.ts';
import { IDEMPOTENCY_KEY_ISSUE, idempotencyWith, parseIdempotencyKey } from '../../http/idempotency.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { newContext } from '../../kit/context.ts';
import { toJson } from '../../kit/json.ts';
import { refusalsOf } from '../../openapi/operation.ts';
import { type AdmissionServices, admitPaying } from '../../operations/admission.ts';
import type { PreparedOperation } from '../../operations/operations.ts';
import { PersistedQueries } from '../../operations/persisted-queries.ts';
import { OperationRefused } from '../../operations/refusal.ts';
import { withIntegerIds, writeList, writeRecord } from '../../operations/representation.ts';
import {
  endOf,
  pageOf,
  ROUTE_COST,
  RouteOperation,
  recordOf,
  throwErrorOf,
} from '../../operations/route-operation.ts';
import { readTexts } from '../../rows/parameter.ts';
import type { Route } from '../../rows/route.ts';
import { type Input, readFields, readPathParameter } from '../input.ts';
import { poll } from '../poll.ts';
import type { TransportServices } from '../transport-services.ts';
import {
  GRAPHQL_INPUT,
  GRAPHQL_OUTPUT,
  inputSchemaOf,
  outputSchemaOf,
  SCHEMA_INPUT,
  SCHEMA_OUTPUT,
} from './schemas.ts';

/** Results up to this cost are held as a whole: as a value, as text, and as text within text. */
const MAX_HELD_COST = 2;

/** A result that is written in pieces. */
export class LargeResult {
  readonly value: object;
  /** In units. */
  readonly cost: number;

  constructor(value: object, cost: number) {
    this.value = value;
    this.cost = cost;
  }
}

export type Arguments = Readonly<Record<string, unknown>>;

/** What an agent can call. */
export interface Tool {
  name: string;
  /** Its entry in `tools/list` as JSON. */
  definition: string;
  isPermitted(principal: Principal): boolean;
  /**
   * Charges a call and runs it.
   *
   * @param bytes of the request
   * @returns its result as JSON
   * @throws AppError
   */
  call(
    context: RequestContext,
    session: Session,
    given: Arguments,
    bytes: number,
  ): Promise<string | LargeResult>;
}

export type ToolServices = Pick<TransportServices, 'operations' | 'streams' | 'schema' | 'trusted'>;

/** All tools in alphabetical order: one for each row but replacements, and two for GraphQL. */
export const toolsOf = (routes: readonly Route[], services: ToolServices): readonly Tool[] =>
  [
    ...routes.filter(({ method }) => method !== 'PUT').map((route) => new RouteTool(route, services)),
    graphqlTool(services),
    schemaTool(services),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));

const definitionOf = (
  name: string,
  description: string,
  inputSchema: JsonSchema,
  outputSchema: JsonSchema,
  annotations: object,
): string =>
  toJson({
    name,
    description,
    inputSchema,
    outputSchema,
    annotations: { ...annotations, openWorldHint: false },
  });

const READ_ONLY = { readOnlyHint: true };
const ANNOTATIONS: Readonly<Record<Route['method'], object>> = {
  GET: READ_ONLY,
  POST: { destructiveHint: false },
  PUT: { destructiveHint: false, idempotentHint: true },
  PATCH: { destructiveHint: false, idempotentHint: true },
  DELETE: { destructiveHint: true, idempotentHint: true },
};

/** What an agent can do about an error. */
export const ADVICE: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: 'A list tool finds the ids that exist.',
  UNKNOWN_REFERENCE: 'A list tool finds the ids that exist.',
  VALIDATION_FAILED: 'Correct the arguments and call again.',
};

/** Runs the document of a row. */
class RouteTool implements Tool {
  readonly name: string;
  readonly definition: string;
  readonly #route: Route;
  readonly #operation: RouteOperation;
  readonly #streams: EventStreams;

  constructor(route: Route, { operations, streams }: ToolServices) {
    const { operationId, method, summary, description, list } = route;
    this.name = operationId;
    this.#route = route;
    this.#operation = new RouteOperation(route, operations);
    this.#streams = streams;
    const about = [
      `${summary}.`,
      description?.split('. ', 1)[0]?.replace(/\.?$/, '.'),
      refusalsOf(route),
      list && list !== 'whole' && 'To go on, pass `after` of the result.',
    ];
    this.definition = definitionOf(
      operationId,
      about.filter(Boolean).join(' '),
      inputSchemaOf(route),
      outputSchemaOf(route),
      ANNOTATIONS[method],
    );
  }

  isPermitted(principal: Principal): boolean {
    return this.#operation.scopes.every((scope) => permits(principal, scope));
  }

  async call(context: RequestContext, session: Session, given: Arguments): Promise<string> {
    const route = this.#route;
    session.subject = { transport: 'mcp', operations: this.#operation.charges };
    const { pathParameter = '' } = route;
    // In one go, since a copy without thousands of unknown fields takes as long as to parse them.
    const { idempotencyKey, [pathParameter]: id, ...fields } = given;
    const { variables, issues } = readArguments(route, id, fields);
    const key =
      route.method === 'GET' || idempotencyKey == null ? undefined : parseIdempotencyKey(idempotencyKey);
    if (key === null) issues.push({ ...IDEMPOTENCY_KEY_ISSUE, path: 'idempotencyKey' });
    const call = () =>
      newContext(session, {
        cost: ROUTE_COST,
        requestId: context.requestId,
        client: context.response,
        idempotency: key ? idempotencyWith(context, key, 0) : undefined,
      });
    if (issues.length > 0) {
      const input = id === undefined ? fields : { ...fields, [pathParameter]: id };
      return this.#operation.refuse(session, input, call(), validationFailed(issues));
    }
    if (variables.wait === undefined)
      return this.#write(variables, await this.#operation.run(session, variables, call()));
    await this.#operation.admit(session);
    const read = (page: object) => this.#operation.read(page as typeof variables, call());
    return this.#write(variables, await poll(this.#streams, context, session, variables as never, read));
  }

  #write(variables: Record<string, unknown>, result: Awaited<ReturnType<RouteOperation['run']>>): string {
    const route = this.#route;
    const { shape, list, pathParameter } = route;
    if (!shape) {
      throwErrorOf(result);
      return toJson({ id: String(variables[pathParameter!]) });
    }
    if (!list) return writeRecord(shape.type, 'string', recordOf(route, variables, result));
    const page = pageOf(route, variables, result);
    const after = list === 'log' || page.pageInfo.hasNextPage ? endOf(shape, page) : undefined;
    const items = `"items":${writeList(shape.type, 'string', page.nodes)}`;
    return after === undefined ? `{${items}}` : `{${items},"after":${JSON.stringify(after)}}`;
  }
}

/**
 * Reads arguments, which are flat, into the variables of a document, and collects the issues with them.
 *
 * @param id of the path
 */
function readArguments(route: Route, id: unknown, others: Arguments): Input {
  const { pathParameter, query = [], body, shape } = route;
  const issues: Issue[] = [];
  const texts = body ? [] : Object.entries(others);
  const notText = texts.find(([, value]) => !valuesOf(value).every(isText));
  if (notText) issues.push({ path: notText[0], message: 'must be text or a number' });
  const isKnown = (name: string) => query.some((parameter) => parameter.name === name);
  const variables = readTexts(
    new Map(texts.map(([name, value]) => [name, isKnown(name) ? valuesOf(value).map(String) : []])),
    query,
    issues,
    'argument',
  );
  if (pathParameter !== undefined) {
    // What is no text breaks the rule.
    const text = isText(id) ? String(id) : '';
    readPathParameter(route, id === undefined ? undefined : text, variables, issues);
  }
  if (body) readFields(route, withIntegerIds(shape!, others), [], variables, issues);
  return { variables, issues };
}

/** The values of a parameter that may be repeated. */
const valuesOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

const isText = (value: unknown): boolean => ['string', 'number', 'bigint', 'boolean'].includes(typeof value);

const everybody = () => true;

function graphqlTool({ operations, trusted }: ToolServices): Tool {
  const services: AdmissionServices = { operations, persisted: new PersistedQueries(), trusted };
  return {
    name: 'graphql',
    definition: definitionOf(
      'graphql',
      'Run a GraphQL query: related records in one call, such as the pets of a category with their stock and orders. Queries only; see the tool schema for types.',
      GRAPHQL_INPUT,
      GRAPHQL_OUTPUT,
      READ_ONLY,
    ),
    isPermitted: everybody,
    async call(context, session, { query, variables }, bytes) {
      const issues: Issue[] = [];
      if (typeof query !== 'string') issues.push({ path: 'query', message: 'must be a GraphQL query' });
      if (variables != null && (typeof variables !== 'object' || Array.isArray(variables)))
        issues.push({ path: 'variables', message: 'must be an object' });
      if (issues.length > 0) throw validationFailed(issues);
      const admission = await admitPaying(
        session,
        services,
        { parameters: { query, variables }, bytes },
        true,
      );
      const [operation] = admission.operations as [PreparedOperation | OperationRefused];
      if (operation instanceof OperationRefused) throw refusalOf(operation);
      if (operation.operation.operation !== 'query')
        throw new AppError('BAD_REQUEST', 'This tool runs queries only. Write with the other tools.');
      session.subject = { transport: 'mcp', operations: admission.charges };
      await session.admit(admission.cost, 0, bytes);
      const { data = null, errors } = await operation.execute(
        newContext(session, {
          cost: operation.cost,
          requestId: context.requestId,
          client: context.response,
        }),
      );
      for (const { extensions } of errors ?? []) context.addError(extensions!.code as ErrorCode);
      const result = errors ? { data, errors } : { data };
      return operation.cost > MAX_HELD_COST ? new LargeResult(result, operation.cost) : toJson(result);
    },
  };
}

/** The first error of an operation that cannot run. */
function refusalOf({ errors: [first] }: OperationRefused): AppError {
  const { code } = first!.extensions as { code: ErrorCode };
  return new AppError(code, first!.message);
}

function schemaTool({ schema }: ToolServices): Tool {
  let result: string | undefined;
  return {
    name: 'schema',
    definition: definitionOf(
      'schema',
      'Get the GraphQL schema in SDL, to write queries for the tool graphql.',
      SCHEMA_INPUT,
      SCHEMA_OUTPUT,
      READ_ONLY,
    ),
    isPermitted: everybody,
    async call(_context, session) {
      session.subject = { transport: 'mcp', operations: [{ name: '__schema', units: ROUTE_COST }] };
      await session.admit(ROUTE_COST, 0);
      result ??= toJson({ schema: withoutDescriptions(printSchema(lexicographicSortSchema(schema))) });
      return result;
    },
  };
}

/** Removes descriptions from SDL, which are half of it. */
const withoutDescriptions = (sdl: string): string => sdl.replace(/^ *"""[\s\S]*?"""\n/gm, '');

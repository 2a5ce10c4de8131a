import { grouped } from '../../foundation/words.ts';
import type { Tool as Definition } from '@modelcontextprotocol/server';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { isLosslessNumber, isSafeNumber, parse, stringify } from 'lossless-json';
import { permits } from '../../access/scopes.ts';
import type { Session } from '../../access/session.ts';
import {
  AppError,
  type ErrorCode,
  type Issue,
  unknownNames,
  validationFailed,
} from '../../foundation/errors.ts';
import { IDEMPOTENCY_KEY_ISSUE, idempotencyOf, parseIdempotencyKey } from '../../http/idempotency-key.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { newContext } from '../../schema/context.ts';
import { toJson } from '../../schema/json-text.ts';
import { refusalsOf } from '../../openapi/describe-operation.ts';
import type { PreparedOperation } from '../../graphql/operations.ts';
import { prepareRequest } from '../../graphql/prepared-request.ts';
import { OperationRefused } from '../../graphql/result.ts';
import { type ParameterTexts, readTexts } from '../../rest-routes/parameter.ts';
import { shapeWriter, withIntegers } from '../../rest-routes/representation.ts';
import type { Route, ServedRoute } from '../../rest-routes/route.ts';
import { readFields, readPathParameter, type Variables } from '../input.ts';
import { endOf, ROUTE_PRICE, PreparedRoute, throwErrorOf } from '../prepared-route.ts';
import type { TransportServices } from '../transport-services.ts';
import { inputSchemaOf, needsValue, object, outputSchemaOf, removableFields } from './tool-schemas.ts';

/** The maximum length of a result in characters. It is sent twice, as text and as JSON, and agents don't read more. */
const MAX_RESULT = 2_000_000;

export type Arguments = Readonly<Record<string, unknown>>;

/** A tool that an agent can call. */
export interface Tool {
  /** The entry in `tools/list`. */
  definition: Definition;
  /** True if the tool is listed for a caller. */
  isOffered(session: Session): boolean;
  /**
   * Charges a call and runs it.
   *
   * @param args the arguments, without null
   * @returns the result as JSON
   * @throws AppError
   */
  call(context: RequestContext, session: Session, args: Arguments): Promise<string>;
}

/** All tools in alphabetical order: one per route for agents, and two for GraphQL. */
export const toolsOf = (services: TransportServices): readonly Tool[] =>
  [
    ...services.routes.filter(({ isTool }) => isTool).map((route) => new RouteTool(route, services)),
    graphqlTool(services),
    ...(services.config.INTROSPECTION ? [schemaTool(services)] : []),
  ].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1));

const READ_ONLY = { readOnlyHint: true, openWorldHint: false };
const ANNOTATIONS: Readonly<Record<Route['method'], Definition['annotations']>> = {
  GET: READ_ONLY,
  POST: { destructiveHint: false, openWorldHint: false },
  PUT: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
  PATCH: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
  DELETE: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
};

/** A tool that runs the document of a route. */
class RouteTool extends PreparedRoute implements Tool {
  readonly definition: Definition;

  constructor(route: ServedRoute, services: TransportServices) {
    super(route, 'mcp', services);
    const { operationId, method, summary, description, list } = route;
    const about = [
      `${summary}.`,
      description?.split('. ', 1)[0]?.replace(/\.?$/, '.'),
      refusalsOf(route),
      list && list !== 'whole' && 'To continue, pass `after` of the result.',
    ];
    this.definition = {
      name: operationId,
      description: about.filter(Boolean).join(' '),
      inputSchema: inputSchemaOf(route, services.api.schemas),
      outputSchema: outputSchemaOf(route, services.api.schemas),
      annotations: ANNOTATIONS[method],
    };
  }

  isOffered({ principal }: Session): boolean {
    return this.route.scopes.every((scope) => permits(principal, scope));
  }

  async call(context: RequestContext, session: Session, args: Arguments): Promise<string> {
    // The sunset applies only to the path, not to the field that this runs.
    session.subject = this.subject;
    const variables = readArguments(this.route, args);
    const call = () =>
      newContext(session, {
        price: ROUTE_PRICE,
        requestId: context.requestId,
        client: context.response,
        idempotency: idempotencyOf(context, args.idempotencyKey),
      });
    return this.#write(variables, await this.run(context, session, variables, call));
  }

  #write(variables: Record<string, unknown>, result: Awaited<ReturnType<PreparedRoute['run']>>): string {
    const { shape, list, pathParameter } = this.route;
    if (!shape) {
      throwErrorOf(result);
      return toJson({ id: String(variables[pathParameter!]) });
    }
    const writer = shapeWriter(shape, 'string');
    if (!list) return writer.one(this.recordOf(variables, result));
    const page = this.pageOf(variables, result);
    const after = list === 'log' || page.pageInfo.hasNextPage ? endOf(shape, page) : undefined;
    const items = `"items":${writer.list(page.nodes)}`;
    return after === undefined ? `{${items}}` : `{${items},"after":${JSON.stringify(after)}}`;
  }
}

/** Converts flat arguments to the variables of a document. @throws VALIDATION_FAILED */
function readArguments(route: Route, args: Arguments): Variables {
  const { method, pathParameter, query = [], body, shape } = route;
  const issues: Issue[] = [];
  const { ...others }: Record<string, unknown> = args;
  if (method !== 'GET') {
    const { idempotencyKey: key } = args;
    if (key !== undefined && parseIdempotencyKey(key) === null)
      issues.push({ ...IDEMPOTENCY_KEY_ISSUE, path: 'idempotencyKey' });
    delete others.idempotencyKey;
  }
  if (pathParameter !== undefined) delete others[pathParameter];
  const inPath = pathParameter === undefined ? [] : [pathParameter];
  const variables = body ? {} : readTexts(textsOf(others, query), query, issues, 'argument', inPath);
  if (pathParameter !== undefined) {
    const { [pathParameter]: id } = args;
    readPathParameter(route, id === undefined ? undefined : textOf(id), variables, issues);
  }
  if (body) {
    readRemovals(removableFields(route), others, issues);
    readFields(route, withIntegers(shape!, others), [], variables, issues);
  }
  if (issues.length > 0) throw validationFailed(issues);
  return variables;
}

/** Replaces the argument `remove` by null for each field that it names, as in a merge patch. */
function readRemovals(removable: readonly string[], fields: Record<string, unknown>, issues: Issue[]): void {
  const { remove } = fields;
  if (removable.length === 0 || remove === undefined) return;
  delete fields.remove;
  const refuse = (message: string) => issues.push({ path: 'remove', message });
  if (!Array.isArray(remove) || !remove.every((name) => removable.includes(name as string)))
    refuse(`must be a list of ${removable.join(', ')}`);
  else
    for (const name of remove as string[]) {
      if (fields[name] != null) refuse(`must not name ${name}, which has a value too`);
      fields[name] = null;
    }
}

/** Arguments for query parameters, as texts. */
function textsOf(args: Arguments, query: NonNullable<Route['query']>): ParameterTexts {
  const texts = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(args)) {
    const parameter = query.find((candidate) => candidate.name === name);
    const isList =
      Array.isArray(value) && parameter?.repeatable && (value.length > 0 || !needsValue(parameter));
    const values: unknown[] = isList ? value : [value];
    texts.set(name, parameter ? values.map(textOf) : []);
  }
  return texts;
}

/** An argument as text. Objects and lists become an empty text, which breaks every rule. */
const textOf = (value: unknown): string =>
  typeof value !== 'object' || isLosslessNumber(value) ? String(value) : '';

function graphqlTool(services: TransportServices): Tool {
  return {
    definition: {
      name: 'graphql',
      description:
        'Run a GraphQL query: related records in one call, such as the pets of a category with their stock and orders. Queries only; see the tool schema for types.',
      inputSchema: object(
        {
          query: { type: 'string', description: 'One query operation' },
          variables: { type: 'object', description: 'The values of its variables' },
        },
        ['query'],
      ),
      outputSchema: object(
        {
          data: { anyOf: [{ type: 'object' }, { type: 'null' }] },
          errors: { type: 'array', items: { type: 'object' } },
        },
        ['data'],
      ),
      annotations: READ_ONLY,
    },
    isOffered: () => true,
    async call(context, session, { query, variables, ...others }) {
      refuseAll(others, ['query', 'variables']);
      const prepared = await prepareRequest(session, services, { query, variables }, true);
      const [operation] = prepared.operations as [PreparedOperation | OperationRefused];
      if (operation instanceof OperationRefused) {
        const [first] = operation.errors;
        throw new AppError(first!.extensions!.code as ErrorCode, first!.message);
      }
      if (operation.operation.operation !== 'query')
        throw new AppError('BAD_REQUEST', 'This tool runs queries only. Write with the other tools.');
      session.subject = { transport: 'mcp', rootFields: prepared.rootFieldPrices };
      await (prepared.price === 0 ? session.chargeFree() : session.charge(prepared.price));
      const { data = null, errors } = await operation.execute(
        newContext(session, {
          price: operation.price,
          charged: session.units,
          requestId: context.requestId,
          client: context.response,
        }),
      );
      for (const { extensions, message } of errors ?? [])
        context.addError(extensions!.code as ErrorCode, message);
      const json = withTextIds(toJson(errors ? { data, errors } : { data }));
      if (json.length <= MAX_RESULT) return json;
      const sizes = [json.length, MAX_RESULT].map(grouped);
      throw new AppError(
        'QUERY_TOO_COMPLEX',
        `The result has ${sizes[0]} characters; a tool answers with at most ${sizes[1]}. Ask for fewer records or fields.`,
      );
    },
  };
}

/** Converts integers that agents would round, such as ids in the data of events, to strings of digits. */
const withTextIds = (json: string): string =>
  /\d{16}/.test(json)
    ? stringify(parse(json, undefined, (digits) => (isSafeNumber(digits) ? Number(digits) : digits)))!
    : json;

/** @throws VALIDATION_FAILED if there are arguments besides the allowed ones */
function refuseAll(others: Arguments, allowed: readonly string[]): void {
  const issues = unknownNames(Object.keys(others), 'argument', allowed);
  if (issues.length > 0) throw validationFailed(issues);
}

function schemaTool({ api }: TransportServices): Tool {
  let result: string | undefined;
  return {
    definition: {
      name: 'schema',
      description: 'Get the GraphQL schema in SDL, to write queries for the tool graphql.',
      inputSchema: object({}),
      outputSchema: object({ schema: { type: 'string' } }, ['schema']),
      annotations: READ_ONLY,
    },
    isOffered: () => true,
    async call(_context, session, args) {
      session.subject = { transport: 'mcp', rootFields: [{ name: '__schema', units: ROUTE_PRICE }] };
      refuseAll(args, []);
      await session.charge(ROUTE_PRICE);
      result ??= toJson({ schema: withoutDescriptions(printSchema(lexicographicSortSchema(api.schema))) });
      return result;
    },
  };
}

/** Removes descriptions, which are half of SDL. */
const withoutDescriptions = (sdl: string): string => sdl.replace(/^ *"""[\s\S]*?"""\n/gm, '');

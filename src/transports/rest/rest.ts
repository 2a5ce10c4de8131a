import type { ExpectedCost, Session } from '../../access/session.ts';
import { ROUTES, STREAMS } from '../../domains/routes.ts';
import { runOnce } from '../../execution/idempotency.ts';
import type { InternalOperation, Operations } from '../../execution/operations.ts';
import { AppError, type Issue, validationFailed } from '../../foundation/errors.ts';
import { andThen, type MaybePromise } from '../../foundation/maybe-promise.ts';
import type { Exchange, Headers } from '../../http/exchange.ts';
import { idempotencyFor } from '../../http/idempotency-key.ts';
import { accepts } from '../../http/media-type.ts';
import type { HttpResponse } from '../../http/response.ts';
import { type Context, newContext } from '../../schema/context.ts';
import { limit } from '../../schema/parameter.ts';
import { isExportable, type Route, type Stream } from '../../schema/route.ts';
import { type ExportSource, type Exports, exportLimit } from './export.ts';
import { readInput, readObject } from './input.ts';
import { checkSunset, deprecationHeaders, type Lifecycle } from './lifecycle.ts';
import { NDJSON, negotiateInt64Format, prefersNdjson } from './media-types.ts';
import { idOf, pageOf, recordOf, toResponse } from './output.ts';
import { preconditionOf, requireMirrored } from './preconditions.ts';
import { readQuery } from './query.ts';
import { writerFor } from './representation.ts';
import { Router } from './router.ts';

/** A route, prepared at startup. */
interface Operation {
  route: Route;
  stream?: undefined;
  run: InternalOperation;
  /** The query that answers an empty merge patch, if the mutation does not accept one. */
  runUnchanged: InternalOperation | undefined;
  /** Headers on every response of the operation. */
  headers: Headers | undefined;
}

type PathParameters = Readonly<Record<string, string | undefined>>;

/** Opens a stream for an operation that has one. The variables are the query parameters. */
export type OpenStream = (
  exchange: Exchange,
  session: Session,
  variables: Readonly<Record<string, unknown>>,
) => Promise<HttpResponse>;

export interface RestOptions {
  routes?: readonly Route[];
  openStream: OpenStream;
  exports: Exports;
}

/** In units: a REST call counts as one request. */
const COST = 1;

const STREAM_TYPE = 'text/event-stream';

/** Finds the route, validates the request, runs the route's document and writes the response. */
export class RestHandler {
  readonly #openStream: OpenStream;
  readonly #exports: Exports;
  readonly #basePath: string;
  readonly #lifecycle: Lifecycle;
  readonly #router = new Router<Operation | { stream: Stream }>();

  constructor(
    operations: Operations,
    basePath: string,
    lifecycle: Lifecycle,
    { routes = ROUTES, openStream, exports }: RestOptions,
  ) {
    this.#exports = exports;
    this.#openStream = openStream;
    this.#basePath = basePath;
    this.#lifecycle = lifecycle;
    for (const route of routes) {
      this.#router.add(route.method, basePath + route.path, {
        route,
        run: operations.prepareInternal(route.document),
        runUnchanged: route.unchanged === undefined ? undefined : operations.prepareInternal(route.unchanged),
        headers: deprecationHeaders(route, lifecycle),
      });
    }
    for (const stream of STREAMS) this.#router.add(stream.method, basePath + stream.path, { stream });
  }

  expectedCost(): ExpectedCost {
    return 'charged';
  }

  /** @throws AppError for invalid or forbidden requests, possibly before anything is charged */
  handle(exchange: Exchange, session: Session): MaybePromise<HttpResponse> {
    const match = this.#router.find(exchange.method, exchange.path);
    if (!match) throw pathNotFound(exchange.path);
    const { destination } = match;
    if (!destination) return this.#handleOtherMethod(exchange, session, match.allow);
    if (destination.stream) return this.#handleStream(exchange, session, destination.stream);
    const { route, headers } = destination;
    exchange.operation = route.operationId;
    exchange.route = this.#basePath + route.path;
    if (route.deprecation) {
      exchange.deprecated = true;
      exchange.operationHeaders = headers;
      checkSunset(route, this.#lifecycle, session.now());
    }
    const exportable = isExportable(route);
    if (exportable && prefersNdjson(exchange.headers.accept))
      return this.#handleExport(exchange, session, destination, match.parameters);
    if (negotiateInt64Format(exchange.headers.accept) === null) {
      const types = exportable ? `application/json or ${NDJSON}` : 'application/json';
      throw new AppError('NOT_ACCEPTABLE', `This operation responds with ${types} only.`);
    }
    return route.body
      ? this.#handleWithBody(exchange, session, destination, match.parameters)
      : this.#handleWithoutBody(exchange, session, destination, match.parameters);
  }

  #handleOtherMethod(exchange: Exchange, session: Session, allow: string): MaybePromise<HttpResponse> {
    exchange.allow = allow;
    if (exchange.method !== 'OPTIONS') {
      throw new AppError('METHOD_NOT_ALLOWED', `${exchange.path} supports ${allow}, not ${exchange.method}.`);
    }
    return andThen(session.charge(COST), () => ({ status: 204, headers: ['Allow', allow] }));
  }

  #handleStream(exchange: Exchange, session: Session, stream: Stream): MaybePromise<HttpResponse> {
    exchange.operation = stream.operationId;
    exchange.route = this.#basePath + stream.path;
    if (!accepts(exchange.headers.accept, [STREAM_TYPE])) {
      throw new AppError('NOT_ACCEPTABLE', `This operation responds with ${STREAM_TYPE} only.`);
    }
    const issues: Issue[] = [];
    const variables = readQuery(exchange.query, stream.query ?? [], issues);
    if (issues.length > 0) throw validationFailed(issues);
    return andThen(session.admit(COST, 0), () => this.#openStream(exchange, session, variables));
  }

  #handleExport(
    exchange: Exchange,
    session: Session,
    { route, run }: Operation,
    parameters: PathParameters,
  ): MaybePromise<HttpResponse> {
    const query = route.query!.map((parameter) => (parameter === limit ? exportLimit(limit) : parameter));
    const { variables, issues } = readInput(exchange, { ...route, query }, parameters);
    if (issues.length > 0) throw validationFailed(issues);
    const shape = route.shape!;
    const source: ExportSource = {
      readPage: async (limit, after) => {
        const page = { ...variables, limit, after };
        return pageOf(route, page, await run(page, contextOf(exchange, session)));
      },
      write: writerFor(shape.type, 'integer'),
      idOf: (record) => idOf(shape, record),
      after: variables.after as string | undefined,
      limit: variables.limit as number | undefined,
    };
    return andThen(session.admit(COST, 0), () => this.#exports.open(exchange, session, source));
  }

  #handleWithoutBody(
    exchange: Exchange,
    session: Session,
    { route, run }: Operation,
    parameters: PathParameters,
  ): MaybePromise<HttpResponse> {
    const { variables, issues } = readInput(exchange, route, parameters);
    if (issues.length > 0) throw validationFailed(issues);
    return andThen(session.admit(COST, route.method === 'GET' ? 0 : 1), () =>
      andThen(run(variables, contextOf(exchange, session)), (result) =>
        toResponse(exchange, route, variables, result),
      ),
    );
  }

  async #handleWithBody(
    exchange: Exchange,
    session: Session,
    { route, run, runUnchanged }: Operation,
    parameters: PathParameters,
  ): Promise<HttpResponse> {
    const body = await readObject(exchange, route);
    const { variables, issues } = readInput(exchange, route, parameters, body);
    const context = contextOf(exchange, session);
    if (issues.length > 0) {
      await session.charge(COST);
      return this.#refuse(route, context, { ...parameters, body }, validationFailed(issues));
    }
    const { mirrors } = route.body!;
    if (mirrors) context.precondition = requireMirrored(context.precondition, mirrors, body);
    if (runUnchanged && Object.keys(variables.input as object).length === 0) {
      await session.charge(COST);
      return this.#handleUnchanged(exchange, route, runUnchanged, variables, context);
    }
    await session.admit(COST, 1);
    return toResponse(exchange, route, variables, await run(variables, context));
  }

  /** The first outcome of an idempotent call is stored even if it is a refusal. */
  async #refuse(route: Route, context: Context, input: object, error: AppError): Promise<HttpResponse> {
    if (context.idempotency) {
      await runOnce(context, route.operationId, input, () => {
        throw error;
      });
    }
    throw error;
  }

  /** Answers an empty merge patch with the unchanged record, or a repeated call with its first outcome. */
  async #handleUnchanged(
    exchange: Exchange,
    route: Route,
    run: InternalOperation,
    variables: Record<string, unknown>,
    context: Context,
  ): Promise<HttpResponse> {
    const read = await run(variables, context);
    const check = () => {
      const record = recordOf(route, variables, read);
      context.precondition?.(route.shape!.type, record);
      return record;
    };
    const record = context.idempotency
      ? await runOnce(context, route.operationId, variables, check)
      : check();
    return toResponse(exchange, route, variables, { data: { result: record } });
  }
}

/** @param path unknown, or with broken percent-encoding */
function pathNotFound(path: string): AppError {
  try {
    decodeURIComponent(path);
  } catch {
    return new AppError('BAD_REQUEST', 'The path is not valid percent-encoded UTF-8.');
  }
  return new AppError('NOT_FOUND', `There is no ${path}.`);
}

const contextOf = (exchange: Exchange, session: Session): Context =>
  newContext(session, {
    cost: COST,
    requestId: exchange.requestId,
    precondition: preconditionOf(exchange.header('if-match')),
    idempotency: idempotencyFor(exchange, 0),
  });

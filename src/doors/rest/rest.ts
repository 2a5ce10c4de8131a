import FindMyWay from 'find-my-way';
import type { Expected, Session } from '../../access/session.ts';
import { ID_RULE, parseId } from '../../domains/id.ts';
import { ROUTES, STREAMS } from '../../domains/index.ts';
import { issuesOf } from '../../domains/notation.ts';
import { type Method, type Route, type Stream, takesIdempotencyKey } from '../../domains/route.ts';
import type { Shape } from '../../domains/shape.ts';
import { AppError, type Issue, notFound, validationFailed } from '../../errors.ts';
import { type Context, newContext, type Precondition } from '../../graphql/context.ts';
import type { PublicResult } from '../../graphql/execute.ts';
import { runOnce } from '../../graphql/idempotency.ts';
import type { Operations, OwnOperation } from '../../graphql/operations.ts';
import type { Answer } from '../../http/answer.ts';
import { checkLength, readBody } from '../../http/body.ts';
import { etagOf, matchesStrongly, matchesWeakly } from '../../http/etag.ts';
import type { Exchange, Headers } from '../../http/exchange.ts';
import { IDEMPOTENCY_KEY_ISSUE, idempotencyOf, parseIdempotencyKey } from '../../http/idempotency-key.ts';
import { asObject, parseJson } from '../../http/json.ts';
import { accepts, isReadable } from '../../http/media-type.ts';
import { andThen } from '../../maybe-promise.ts';
import type { MaybePromise } from '../../store/store.ts';
import { checkSunset, deprecationHeaders, type Lifecycle } from './lifecycle.ts';
import { bodyTypesOf, CONTENT_TYPES, type Int64Notation, notationFor, notationOf } from './media-types.ts';
import { readQuery } from './query.ts';
import { withIntegerIds, writeList, writerFor } from './representation.ts';

/** What the router keeps of a route. */
interface Destination {
  route: Route;
  run: OwnOperation;
  /** Headers that every answer of the operation has. */
  operationHeaders: Headers | undefined;
}

type Found = Destination & { parameters: Readonly<Record<string, string | undefined>> };

/** What a path leads to. */
export type Match =
  | Found
  | { route?: undefined; stream: Stream }
  | { route?: undefined; stream?: undefined; allow: string };

/** Answers an operation that has a stream; its variables bear the names of the query parameters. */
export type OpenStream = (
  exchange: Exchange,
  session: Session,
  variables: Readonly<Record<string, unknown>>,
) => Promise<Answer>;

/** In units: a REST call is one request. */
const PRICE = 1;

const STREAM_TYPE = 'text/event-stream';

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** A path segment longer than this is no id; the router's own bound would answer 404 where 400 is right. */
const LONGEST_SEGMENT = 16_000;

/** The REST door: finds the route, checks the request, runs the route's document and shapes the answer. */
export class Rest {
  readonly #openStream: OpenStream;
  readonly #basePath: string;
  readonly #lifecycle: Lifecycle;
  readonly #router = FindMyWay({ maxParamLength: LONGEST_SEGMENT });
  readonly #unchangedOperations = new Map<Route, OwnOperation>();

  constructor(
    operations: Operations,
    basePath: string,
    lifecycle: Lifecycle,
    { routes = ROUTES, openStream }: { routes?: readonly Route[]; openStream: OpenStream },
  ) {
    this.#openStream = openStream;
    this.#basePath = basePath;
    this.#lifecycle = lifecycle;
    for (const route of routes) {
      const path = basePath + route.path.replace(/\{(\w+)\}/g, ':$1');
      const destination: Destination = {
        route,
        run: operations.prepareOwn(route.document),
        operationHeaders: deprecationHeaders(route, lifecycle),
      };
      this.#router.on(route.method, path, () => {}, destination);
      if (route.unchanged !== undefined)
        this.#unchangedOperations.set(route, operations.prepareOwn(route.unchanged));
    }
    for (const stream of STREAMS)
      this.#router.on(stream.method, basePath + stream.path, () => {}, { stream });
  }

  /** @returns null if no operation has this path */
  match(method: string, path: string): Match | null {
    // The router would take the nothing between or behind slashes for a parameter.
    if (path.endsWith('/') || path.includes('//')) return null;
    const found = this.#router.find((method === 'HEAD' ? 'GET' : method) as Method, path);
    if (found) {
      const destination = found.store as Destination | { stream: Stream };
      return 'stream' in destination ? destination : { ...destination, parameters: found.params };
    }
    const allowed = METHODS.filter((candidate) => this.#router.find(candidate, path)).flatMap((candidate) =>
      candidate === 'GET' ? ['GET', 'HEAD'] : [candidate],
    );
    return allowed.length === 0 ? null : { allow: [...allowed, 'OPTIONS'].join(', ') };
  }

  expect(): Expected {
    return 'charged';
  }

  /** @throws AppError for what the client did wrong or may not do; it may not be charged yet */
  answer(exchange: Exchange, session: Session): MaybePromise<Answer> {
    const match = this.match(exchange.method, exchange.path);
    if (!match) throw new AppError('NOT_FOUND', `There is no ${exchange.path}.`);
    if (!match.route) {
      return match.stream
        ? this.#answerStream(exchange, session, match.stream)
        : this.#answerOtherMethod(exchange, session, match.allow);
    }
    const { route, operationHeaders } = match;
    exchange.operation = route.operationId;
    exchange.route = this.#basePath + route.path;
    if (route.deprecation) {
      exchange.deprecated = true;
      exchange.operationHeaders = operationHeaders;
      checkSunset(route, this.#lifecycle, session.now());
    }
    if (notationFor(exchange.headers.accept) === null) {
      throw new AppError('NOT_ACCEPTABLE', 'This operation answers with application/json only.');
    }
    return route.body
      ? this.#answerWithBody(exchange, session, match)
      : this.#answerBare(exchange, session, match);
  }

  #answerOtherMethod(exchange: Exchange, session: Session, allow: string): MaybePromise<Answer> {
    exchange.allow = allow;
    if (exchange.method !== 'OPTIONS') {
      throw new AppError('METHOD_NOT_ALLOWED', `${exchange.path} answers ${allow}, not ${exchange.method}.`);
    }
    return andThen(session.charge(PRICE), () => ({ status: 204, headers: ['Allow', allow], body: '' }));
  }

  #answerStream(exchange: Exchange, session: Session, stream: Stream): MaybePromise<Answer> {
    exchange.operation = stream.operationId;
    exchange.route = this.#basePath + stream.path;
    if (!accepts(exchange.headers.accept, [STREAM_TYPE])) {
      throw new AppError('NOT_ACCEPTABLE', `This operation answers with ${STREAM_TYPE} only.`);
    }
    const issues: Issue[] = [];
    const variables = readQuery(exchange.query, stream.query ?? [], issues);
    if (issues.length > 0) throw validationFailed(issues);
    return andThen(session.admit(PRICE, 0), () => this.#openStream(exchange, session, variables));
  }

  #answerBare(exchange: Exchange, session: Session, { route, run, parameters }: Found): MaybePromise<Answer> {
    const variables = this.#variables(exchange, route, parameters);
    return andThen(session.admit(PRICE, route.method === 'GET' ? 0 : 1), () =>
      this.#run(exchange, route, run, variables, contextOf(exchange, session)),
    );
  }

  async #answerWithBody(
    exchange: Exchange,
    session: Session,
    { route, run, parameters }: Found,
  ): Promise<Answer> {
    checkLength(exchange.request);
    const types = bodyTypesOf(route.method);
    if (!isReadable(exchange.headers['content-type'], types) || isEncoded(exchange)) {
      throw new AppError(
        'UNSUPPORTED_MEDIA_TYPE',
        `This operation reads ${types.join(' or ')} in UTF-8 only.`,
      );
    }
    const body = readIds(exchange, route, asObject(parseJson(await readBody(exchange))));
    const variables = this.#variables(exchange, route, parameters, body);
    const context = contextOf(exchange, session);
    if (variables instanceof AppError) {
      await session.charge(PRICE);
      return this.#refuse(route, context, { ...parameters, body }, variables);
    }
    const { mirrors } = route.body!;
    if (mirrors) context.precondition = mirroring(context.precondition, mirrors, body);
    if (route.unchanged !== undefined && Object.keys(variables.input as object).length === 0) {
      await session.charge(PRICE);
      return this.#unchanged(exchange, route, variables, context);
    }
    await session.admit(PRICE, 1);
    return this.#run(exchange, route, run, variables, context);
  }

  /** Everything that is wrong with path, query, header and body together, or the variables of the document. */
  #variables(
    exchange: Exchange,
    route: Route,
    parameters: Readonly<Record<string, string | undefined>>,
  ): Record<string, unknown>;
  #variables(
    exchange: Exchange,
    route: Route,
    parameters: Readonly<Record<string, string | undefined>>,
    body: Record<string, unknown>,
  ): Record<string, unknown> | AppError;
  #variables(
    exchange: Exchange,
    route: Route,
    parameters: Readonly<Record<string, string | undefined>>,
    body?: Record<string, unknown>,
  ): Record<string, unknown> | AppError {
    const issues: Issue[] = [];
    const variables = readQuery(exchange.query, route.query ?? [], issues);
    if (route.pathParameter) {
      const id = parseId(parameters[route.pathParameter]);
      if (id === null) issues.unshift({ path: route.pathParameter, message: ID_RULE });
      variables[route.pathParameter] = id;
    }
    const idempotencyKey = exchange.headers['idempotency-key'];
    if (
      takesIdempotencyKey(route.method) &&
      idempotencyKey !== undefined &&
      parseIdempotencyKey(idempotencyKey) === null
    )
      issues.push(IDEMPOTENCY_KEY_ISSUE);
    if (route.body && body) {
      const { ownId, rules, toInput } = route.body;
      let content = body;
      if (ownId && Object.hasOwn(body, ownId)) {
        const { [ownId]: repeated, ...others } = body;
        content = others;
        if (typeof repeated === 'string' || parseId(repeated) !== variables[route.pathParameter!]) {
          issues.push({ path: ownId, message: 'must be the id of the path' });
        }
      }
      const checked = rules.safeParse(content);
      if (checked.error) issues.push(...issuesOf(checked.error.issues));
      else variables.input = toInput ? toInput(checked.data as never) : checked.data;
    }
    if (issues.length === 0) return variables;
    const error = validationFailed(issues);
    if (body) return error;
    throw error;
  }

  /** The first outcome of an idempotent call is kept even if it is a refusal. */
  async #refuse(route: Route, context: Context, input: object, error: AppError): Promise<Answer> {
    if (context.idempotency) {
      await runOnce(context, route.operationId, input, () => {
        throw error;
      });
    }
    throw error;
  }

  /** Answers an empty merge patch with the record as it is; in a repeated call, as it was the first time. */
  async #unchanged(
    exchange: Exchange,
    route: Route,
    variables: Record<string, unknown>,
    context: Context,
  ): Promise<Answer> {
    const read = await this.#unchangedOperations.get(route)!(variables, context);
    const answer = () => {
      const record = recordOf(route, variables, read);
      context.precondition?.(route.shape!.type, record);
      return record;
    };
    const record = context.idempotency
      ? await runOnce(context, route.operationId, variables, answer)
      : answer();
    return this.#shape(exchange, route, variables, { data: { result: record } });
  }

  #run(
    exchange: Exchange,
    route: Route,
    run: OwnOperation,
    variables: Record<string, unknown>,
    context: Context,
  ): MaybePromise<Answer> {
    return andThen(run(variables, context), (result) => this.#shape(exchange, route, variables, result));
  }

  #shape(exchange: Exchange, route: Route, variables: Record<string, unknown>, result: PublicResult): Answer {
    if (result.errors) throw errorOf(result);
    const data = result.data as { page?: ResultPage; parent?: { page: ResultPage } | null };
    const { shape } = route;
    const notation = notationFor(exchange.headers.accept)!;
    if (shape === undefined) return { status: route.status, headers: [], body: '' };
    if (route.list) {
      const page = data.page ?? data.parent?.page;
      if (!page) throw notFound(route.kind, String(variables[route.pathParameter!]));
      const headers: Headers =
        route.endless || page.pageInfo.hasNextPage ? ['Link', this.#nextLink(exchange, route, page)] : [];
      return withEtag(
        exchange,
        notation,
        200,
        headers,
        writeList(writerFor(shape.type, notation), page.nodes),
      );
    }
    const record = recordOf(route, variables, result);
    const body = writerFor(shape.type, notation)(record);
    if (route.status === 201) {
      const location = `${this.#basePath}${route.path}/${idOf(shape, record)}`;
      return withEtag(exchange, notation, 201, ['Location', location], body);
    }
    return withEtag(exchange, notation, route.status, [], body);
  }

  /** RFC 8288, with the filters and the limit of this request. */
  #nextLink(exchange: Exchange, route: Route, page: ResultPage): string {
    const query = new URLSearchParams(exchange.query);
    query.set('after', page.pageInfo.endCursor ?? idOf(route.shape!, page.nodes.at(-1)!));
    return `<${exchange.path}?${query}>; rel="next"`;
  }
}

/** The one record of a result. @throws its error, NOT_FOUND where there is none */
function recordOf(
  { kind, pathParameter }: Route,
  variables: Record<string, unknown>,
  result: PublicResult,
): object {
  if (result.errors) throw errorOf(result);
  const record = (result.data as { result?: object | null }).result;
  if (!record) throw notFound(kind, String(variables[pathParameter!]));
  return record;
}

const idOf = ({ idField }: Shape, record: object): string => (record as Record<string, string>)[idField]!;

interface ResultPage {
  nodes: object[];
  /** `endCursor` where the list has other cursors than ids. */
  pageInfo: { hasNextPage: boolean; endCursor?: string };
}

const contextOf = (exchange: Exchange, session: Session): Context =>
  newContext(session, {
    cost: PRICE,
    precondition: preconditionOf(exchange.header('if-match')),
    idempotency: idempotencyOf(exchange, 0),
  });

/**
 * The precondition of If-Match (RFC 9110 section 13.1.1), checked by the store together with the write. The tag of either
 * representation names the version: both are of the same record, and a DELETE says in no Accept which one it has seen.
 */
function preconditionOf(ifMatch: string | undefined): Precondition | undefined {
  if (ifMatch === undefined) return undefined;
  const matches = (body: string) => matchesStrongly(ifMatch, etagOf(body));
  return (type, record) => {
    if (!matches(writerFor(type, 'integer')(record)) && !matches(writerFor(type, 'string')(record))) {
      throw new AppError('PRECONDITION_FAILED', 'The resource has another version than If-Match names.');
    }
  };
}

/** The precondition that fields which the body may only repeat are those of the resource. */
function mirroring(
  precondition: Precondition | undefined,
  names: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Precondition | undefined {
  const repeated = names.filter((name) => Object.hasOwn(body, name));
  if (repeated.length === 0) return precondition;
  return (type, record) => {
    precondition?.(type, record);
    const others = repeated.filter((name) => (record as Record<string, unknown>)[name] !== body[name]);
    if (others.length > 0) {
      throw validationFailed(
        others.map((path) => ({ path, message: 'can only be repeated, not changed, here' })),
      );
    }
  };
}

function withEtag(
  exchange: Exchange,
  notation: Int64Notation,
  status: number,
  headers: Headers,
  body: string,
): Answer {
  const etag = etagOf(body);
  headers.push('ETag', etag);
  const ifNoneMatch = isRead(exchange) ? exchange.headers['if-none-match'] : undefined;
  if (ifNoneMatch !== undefined && matchesWeakly(ifNoneMatch, etag))
    return { status: 304, headers, body: '' };
  return { status, headers, body, contentType: CONTENT_TYPES[notation] };
}

const isRead = ({ method }: Exchange): boolean => method === 'GET' || method === 'HEAD';

function errorOf({ errors, retryAfter }: PublicResult): AppError {
  const { message, extensions } = errors![0]!;
  const options = retryAfter === undefined ? {} : { retryAfter };
  return new AppError((extensions as AppError['extensions']).code, message, options);
}

const readIds = (exchange: Exchange, { shape }: Route, body: Record<string, unknown>) =>
  notationOf(exchange.headers['content-type']) === 'string' ? withIntegerIds(shape!, body) : body;

const isEncoded = ({ headers }: Exchange): boolean =>
  headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity';

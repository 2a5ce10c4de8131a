import { requireScopes } from '../../access/scopes.ts';
import { FAILURE_PRICE, type Session, type UsageSubject } from '../../access/session.ts';
import { formatBudget } from '../../domains/rate-limit.type.ts';
import { AppError } from '../../foundation/errors.ts';
import type { MaybePromise } from '../../foundation/turns.ts';
import { STREAM_TYPE } from '../../http/event-stream.ts';
import { checkIdempotencyKey } from '../../http/idempotency-key.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { etagOf, type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import { COST_PATH, GRAPHQL_PATH, type Transport } from '../../http/transport.ts';
import type { PreparedOperation } from '../../graphql/operations.ts';
import {
  type DocumentServices,
  type PreparedEntry,
  type PreparedRequest,
  prepareRequest,
} from '../../graphql/prepared-request.ts';
import { OperationRefused } from '../../graphql/result.ts';
import { onOneLine } from '../../schema/json-text.ts';
import type { TransportServices } from '../transport-services.ts';
import { answer, isLarge, run } from './answer.ts';
import {
  BODY_TYPES,
  contentTypeFor,
  describe,
  graphqlErrorResponse,
  METHODS,
  noteErrors,
  RESPONSE_TYPES,
  RESPONSES,
  readParameters,
  readQueryString,
  STREAMS,
} from './over-http.ts';
import { encodeEvents, loadYoga, subscribe } from './subscription.ts';

/** The usage subject of requests without an operation. */
const UNKNOWN: UsageSubject = { transport: 'graphql', rootFields: [] };

/** GraphQL over HTTP (https://graphql.github.io/graphql-over-http), and over SSE by Yoga. */
export class GraphQLTransport implements Transport {
  readonly name = 'graphql';
  readonly roots = [GRAPHQL_PATH];
  readonly vary = 'Accept, X-API-Key, Authorization, X-RateLimit-Extension';
  readonly errorResponse = graphqlErrorResponse;
  readonly #services: TransportServices;

  constructor(services: TransportServices) {
    this.#services = services;
  }

  /** Loads Yoga. */
  readonly load = loadYoga;

  match({ path }: RequestContext): boolean {
    return path === GRAPHQL_PATH || path === COST_PATH;
  }

  admit(context: RequestContext): MaybePromise<void> {
    // Clients choose the names of operations, so they must not become labels of metrics.
    context.operation = 'other';
    context.route = context.path;
    const expected = context.path === COST_PATH ? 'free' : 'perhaps free';
    return this.#services.access.admit(context, expected, UNKNOWN);
  }

  async handle(context: RequestContext): Promise<HttpResponse> {
    const session = context.session!;
    if (context.path === COST_PATH) return handleCost(context, session, this.#services);
    const { headers, method } = context;
    if (method === 'OPTIONS') {
      await session.charge(FAILURE_PRICE);
      return {
        status: 204,
        headers: ['Allow', METHODS, 'Accept-Query', BODY_TYPES.join(', ')],
      };
    }
    const hasBody = method === 'POST' || method === 'QUERY';
    if (!hasBody && method !== 'GET' && method !== 'HEAD')
      throw new MethodNotAllowed(method, context.path, METHODS);
    const type = RESPONSES.choose(context.accept);
    if (type === undefined && STREAMS.choose(context.accept) === undefined)
      throw new AppError('NOT_ACCEPTABLE', `GraphQL responds with ${RESPONSE_TYPES.join(' or ')}.`);
    checkIdempotencyKey(headers['idempotency-key']);
    const parameters = hasBody ? await readParameters(context) : readQueryString(context.query);
    const prepared = await prepareRequest(session, this.#services, parameters, method === 'POST');
    describe(context, prepared);
    const operation = subscriptionIn(prepared);
    if (operation) return this.#subscribe(context, session, prepared, operation);
    session.subject = { transport: 'graphql', rootFields: prepared.rootFieldPrices };
    await (prepared.price === 0 ? session.chargeFree() : session.charge(prepared.price, prepared.mutations));
    const [first] = prepared.operations as [PreparedEntry];
    // A request that is refused before it runs gets JSON instead of a stream.
    if (type !== undefined || (first instanceof OperationRefused && !prepared.batch))
      return answer(context, session, prepared, contentTypeFor(type));
    if (first instanceof OperationRefused || prepared.batch || isLarge(prepared))
      throw new AppError(
        'NOT_ACCEPTABLE',
        `A batch and an answer of more than 10 units are sent as ${RESPONSE_TYPES.join(' or ')} only.`,
      );
    const result = await run(context, session, first, 0);
    const encoded = await encodeEvents({ ...result, stringify: first.stringify });
    const body = onOneLine(await encoded.text());
    const tag = context.isRead && 'data' in result && { etag: etagOf(body) };
    return { status: 200, headers: [], body, contentType: STREAM_TYPE, ...tag };
  }

  async #subscribe(
    context: RequestContext,
    session: Session,
    prepared: PreparedRequest,
    operation: PreparedOperation,
  ): Promise<HttpResponse> {
    if (STREAMS.choose(context.accept) === undefined)
      throw new AppError(
        'NOT_ACCEPTABLE',
        `Subscriptions respond with ${STREAM_TYPE}, which graphql-sse's client and links accept.`,
      );
    session.subject = { transport: 'stream', rootFields: prepared.rootFieldPrices };
    session.require((principal) => requireScopes(principal, operation.scopes()));
    await session.require((principal) => this.#services.documents.requireText(principal, operation.text));
    const stream = await subscribe(this.#services.streams, context, session, operation);
    return { status: 200, headers: [], contentType: STREAM_TYPE, live: true, stream };
  }
}

/** The subscription in a request, if it is one. @throws BAD_REQUEST for a subscription in a batch */
function subscriptionIn({ batch, operations }: PreparedRequest): PreparedOperation | undefined {
  const subscription = operations.find(
    (operation): operation is PreparedOperation =>
      !(operation instanceof OperationRefused) && operation.operation.operation === 'subscription',
  );
  if (subscription && batch) throw new AppError('BAD_REQUEST', 'A subscription cannot be part of a batch.');
  return subscription;
}

const COST_METHODS = 'POST, OPTIONS';

/**
 * Responds with the cost of a GraphQL request and the remaining budget. Runs nothing and is free, even on errors,
 * except for bodies of more than 10 kB.
 */
async function handleCost(
  context: RequestContext,
  session: Session,
  services: DocumentServices,
): Promise<HttpResponse> {
  const { method } = context;
  await session.requireFree();
  if (method === 'OPTIONS') return { status: 204, headers: ['Allow', COST_METHODS] };
  if (method !== 'POST') throw new MethodNotAllowed(method, context.path, COST_METHODS);
  const type = RESPONSES.require(context.accept);
  const parameters = await readParameters(context);
  if (Array.isArray(parameters))
    throw new AppError('BAD_REQUEST', 'The cost is available for one operation at a time, not for a batch.');
  const prepared = await prepareRequest(session, services, parameters, true);
  describe(context, prepared);
  const [operation] = prepared.operations;
  const cost = session.costOf(prepared.price);
  await session.charge(0);
  if (operation instanceof OperationRefused) {
    noteErrors(context, operation.errors);
    const body = JSON.stringify({ errors: operation.errors });
    return { status: 400, headers: [], body, contentType: contentTypeFor(type) };
  }
  return { status: 200, headers: [], body: JSON.stringify(formatBudget(session.budget(cost))) };
}

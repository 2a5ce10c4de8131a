import type { Api } from '../../domains/create-api.ts';
import type { Session } from '../../access/session.ts';
import { andThen, type MaybePromise } from '../../foundation/maybe-promise.ts';
import { idempotencyOf } from '../../http/idempotency-key.ts';
import { Negotiation } from '../../http/media-type.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { etagOf, type Headers, type HttpResponse } from '../../http/response.ts';
import { type Context, newContext } from '../../schema/context.ts';
import type { PublicResult } from '../../graphql/result.ts';
import { limit } from '../../rest-routes/parameter.ts';
import { type ShapeWriter, shapeWriter } from '../../rest-routes/representation.ts';
import {
  acceptsIdempotencyKey,
  isExportable,
  type Lifecycle,
  type Method,
  NDJSON,
  type Route,
  type ServedRoute,
  echoedFields,
} from '../../rest-routes/route.ts';
import { idFieldOf } from '../../rest-routes/shape.ts';
import { readInput, readObject } from '../input.ts';
import { endOf, idOf, ROUTE_PRICE, PreparedRoute, throwErrorOf } from '../prepared-route.ts';
import type { TransportServices } from '../transport-services.ts';
import { exportLimit, openExport } from './export.ts';
import { nextLink, type PathParameters, type RestHandler } from './rest-handler.ts';
import { preconditionOf, alsoUnchanged } from './preconditions.ts';

const JSON_TYPE = 'application/json';
const TYPES = new Negotiation([JSON_TYPE]);
const LIST_TYPES = new Negotiation([JSON_TYPE, NDJSON]);

/** Validates a request, runs the route's document and responds with its result as JSON or NDJSON. */
export class DocumentHandler extends PreparedRoute implements RestHandler {
  readonly deprecation: Headers | undefined;
  /** The fields that a body may repeat. */
  readonly #echoed: readonly string[];
  /** The repeatable fields, except the id, that must equal the record's. */
  readonly #unchanging: readonly string[];
  readonly #types: Negotiation;
  readonly #writer: ShapeWriter | undefined;
  readonly #services: TransportServices;

  constructor(route: ServedRoute, services: TransportServices) {
    super(route, 'rest', services);
    this.deprecation = deprecationHeaders(route, services.config);
    this.#services = services;
    this.#echoed = echoedFields(route);
    this.#unchanging = this.#echoed.filter(
      (name) => name !== idFieldOf(route.shape!) && !route.shape!.fields[name]!.compute,
    );
    this.#types = isExportable(route) ? LIST_TYPES : TYPES;
    this.#writer = route.shape && shapeWriter(route.shape, 'integer');
  }

  handle(context: RequestContext, session: Session, parameters: PathParameters): MaybePromise<HttpResponse> {
    const { route } = this;
    this.enter(session);
    if (this.#types.require(context.accept) === NDJSON) return this.#export(context, session, parameters);
    return andThen(route.body && readObject(context, route), (body) => {
      const variables = readInput(context, route, parameters, body, this.#echoed);
      const { shapes } = this.#services.api;
      const call = contextOf(context, session, shapes);
      if (body && this.#unchanging.length > 0)
        call.precondition = alsoUnchanged(call.precondition, this.#unchanging, body, shapes);
      const result = this.run(context, session, variables, () => call);
      return andThen(result, (settled) => this.#respond(context, variables, settled));
    });
  }

  #export(context: RequestContext, session: Session, parameters: PathParameters): Promise<HttpResponse> {
    const { route } = this;
    const query = route.query!.map((parameter) => (parameter === limit ? exportLimit(limit) : parameter));
    const variables = readInput(context, { ...route, query }, parameters);
    const list = {
      operation: this,
      variables,
      session,
      contextOf: () => contextOf(context, session, this.#services.api.shapes),
    };
    return openExport(list, context, this.#services);
  }

  /** @throws the error in the result; NOT_FOUND for no record */
  #respond(
    context: RequestContext,
    variables: Readonly<Record<string, unknown>>,
    result: PublicResult,
  ): HttpResponse {
    const { shape, status, list } = this.route;
    if (!shape) {
      throwErrorOf(result);
      return { status, headers: [] };
    }
    const headers: Headers = [];
    let body: string;
    if (list) {
      const page = this.pageOf(variables, result);
      if ((list === 'log' && variables.sort !== '-id') || page.pageInfo.hasNextPage)
        headers.push('Link', nextLink(context, endOf(shape, page)!));
      body = this.#writer!.list(page.nodes);
    } else {
      const record = this.recordOf(variables, result);
      // A record is created at the path of the list, which has no parameter.
      if (status === 201) headers.push('Location', `${context.route}/${idOf(shape, record)}`);
      body = this.#writer!.one(record);
    }
    return { status, headers, body, etag: etagOf(body) };
  }
}

/** The headers that announce the end of an operation (RFC 9745, RFC 8594). */
function deprecationHeaders(
  { tag, operationId, deprecation }: Route,
  { DEPRECATION_DATE, SUNSET_DATE }: Lifecycle,
): Headers | undefined {
  if (!deprecation) return undefined;
  return [
    'Deprecation',
    `@${Math.floor(DEPRECATION_DATE / 1000)}`,
    'Sunset',
    new Date(SUNSET_DATE).toUTCString(),
    'Link',
    `</docs#tag/${tag}/${operationId}>; rel="deprecation", <${deprecation.successor}>; rel="successor-version"`,
  ];
}

function contextOf(context: RequestContext, session: Session, shapes: Api['shapes']): Context {
  const { requestId, method, headers, isRead } = context;
  const call: Parameters<typeof newContext>[1] = { price: ROUTE_PRICE, requestId };
  const precondition = isRead ? undefined : preconditionOf(headers, shapes);
  if (precondition) call.precondition = precondition;
  const { 'idempotency-key': key } = headers;
  if (key !== undefined && acceptsIdempotencyKey(method as Method))
    call.idempotency = idempotencyOf(context, key);
  return newContext(session, call);
}

import type { IncomingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'lossless-json';
import type { Api } from '../../domains/create-api.ts';
import type { Session } from '../../access/session.ts';
import { AppError, validationFailed } from '../../foundation/errors.ts';
import { andThen, type MaybePromise } from '../../foundation/turns.ts';
import { idempotencyOf } from '../../http/idempotency-key.ts';
import { Negotiation } from '../../http/media-type.ts';
import { asObject, parseJson } from '../../http/parse-json.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { etagOf, type Headers, type HttpResponse, namesTag } from '../../http/response.ts';
import { type Context, newContext, type Precondition } from '../../schema/context.ts';
import { isObject } from '../../schema/json-text.ts';
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
import { idFieldOf, representedAs, type Shape } from '../../rest-routes/shape.ts';
import { readInput, readObject } from '../input.ts';
import { endOf, idOf, ROUTE_PRICE, PreparedRoute, throwErrorOf } from '../prepared-route.ts';
import type { TransportServices } from '../transport-services.ts';
import { exportLimit, openExport } from './export.ts';
import { nextLink, type PathParameters, type RestHandler } from './rest-handler.ts';

const JSON_TYPE = 'application/json';
const TYPES = new Negotiation([JSON_TYPE]);
const LIST_TYPES = new Negotiation([JSON_TYPE, NDJSON]);

/** Validates a request, runs the route's document and responds with its result as JSON or NDJSON. */
export class DocumentHandler extends PreparedRoute implements RestHandler {
  readonly deprecation: Headers | undefined;
  readonly #types: Negotiation;
  #writer: ShapeWriter | undefined;
  readonly #services: TransportServices;

  constructor(route: ServedRoute, services: TransportServices) {
    super(route, 'rest', services);
    this.deprecation = deprecationHeaders(route, services.config);
    this.#services = services;
    this.#types = isExportable(route) ? LIST_TYPES : TYPES;
  }

  handle(context: RequestContext, session: Session, parameters: PathParameters): MaybePromise<HttpResponse> {
    const { route } = this;
    this.enter(session);
    if (this.#types.require(context.accept) === NDJSON) return this.#export(context, session, parameters);
    return andThen(route.body && readObject(context, route), (body) => {
      const variables = readInput(context, route, parameters, body, body ? echoedFields(route) : []);
      const { shapes } = this.#services.api;
      const call = contextOf(context, session, shapes);
      if (body) call.precondition = alsoUnchanged(call.precondition, route, body, shapes);
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
    this.#writer ??= shapeWriter(shape, 'integer');
    let body: string;
    if (list) {
      const page = this.pageOf(variables, result);
      if ((list === 'log' && variables.sort !== '-id') || page.pageInfo.hasNextPage)
        headers.push('Link', nextLink(context, endOf(shape, page)!));
      body = this.#writer.list(page.nodes);
    } else {
      const record = this.recordOf(variables, result);
      // A record is created at the path of the list, which has no parameter.
      if (status === 201) headers.push('Location', `${context.route}/${idOf(shape, record)}`);
      body = this.#writer.one(record);
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

/** The JSON of a stored record in the shape of a GraphQL type. */
function shownAs(type: string, record: object, shapes: readonly Shape[]): string {
  const shape = shapes.find((candidate) => candidate.type === type)!;
  return shapeWriter(shape, 'integer').one(representedAs(shape, record as Record<string, unknown>));
}

/** `*`, or a list of entity tags (RFC 9110 section 13.1.1), which may have empty elements (section 5.6.1). */
const TAGS = /^[\s,]*(?:\*|(?:W\/)?"[^"]*"(?:\s*,[\s,]*(?:W\/)?"[^"]*")*)[\s,]*$/;

/**
 * The preconditions of a write (RFC 9110 sections 13.1.1 and 13.1.2), which the store checks atomically with the write.
 *
 * @param shapes the shapes of records, by GraphQL type
 * @returns undefined if the request has none
 * @throws VALIDATION_FAILED for malformed entity tags
 */
function preconditionOf(headers: IncomingHttpHeaders, shapes: readonly Shape[]): Precondition | undefined {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match === undefined && noneMatch === undefined) return undefined;
  const issues = Object.entries({ 'If-Match': match, 'If-None-Match': noneMatch })
    .filter(([, value]) => value !== undefined && !TAGS.test(value))
    .map(([path]) => ({ path, message: 'must be an ETag with its quotes, such as "abc", or *' }));
  if (issues.length > 0) throw validationFailed(issues);
  return (type, record) => {
    const tag = etagOf(shownAs(type, record, shapes));
    if (match !== undefined && !namesTag(match, tag))
      throw new AppError(
        'PRECONDITION_FAILED',
        'If-Match does not name the current version of the resource. Read it again and repeat the change with its new ETag.',
      );
    if (noneMatch !== undefined && namesTag(noneMatch, tag))
      throw new AppError('PRECONDITION_FAILED', 'If-None-Match names the current version of the resource.');
  };
}

/** True if two JSON values are equal. Numbers are compared by their digits, since not all are parsed alike. */
const isSameJson = (one: unknown, other: unknown): boolean =>
  isObject(one) ? isDeepStrictEqual(one, other) : stringify(one) === stringify(other);

/** Adds the requirement that fields which the body may only repeat are unchanged. The id has been compared already. */
function alsoUnchanged(
  precondition: Precondition | undefined,
  route: Route,
  body: Readonly<Record<string, unknown>>,
  shapes: readonly Shape[],
): Precondition | undefined {
  const repeated = echoedFields(route).filter(
    (name) =>
      Object.hasOwn(body, name) && name !== idFieldOf(route.shape!) && !route.shape!.fields[name]!.compute,
  );
  if (repeated.length === 0) return precondition;
  return (type, record) => {
    precondition?.(type, record);
    const shown = asObject(parseJson(Buffer.from(shownAs(type, record, shapes))));
    const changed = repeated.filter((name) => !isSameJson(shown[name], body[name]));
    if (changed.length > 0)
      throw validationFailed(changed.map((path) => ({ path, message: 'cannot be changed here' })));
  };
}

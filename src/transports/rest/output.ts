import type { PublicResult } from '../../execution/execute.ts';
import { type AppError, notFound, ReportedError } from '../../foundation/errors.ts';
import { etagOf, matchesWeakly } from '../../http/etag.ts';
import type { Exchange, Headers } from '../../http/exchange.ts';
import type { HttpResponse } from '../../http/response.ts';
import type { Route } from '../../schema/route.ts';
import type { Shape } from '../../schema/shape.ts';
import { CONTENT_TYPES, type Int64Format, negotiateInt64Format } from './media-types.ts';
import { writeList, writerFor } from './representation.ts';

/**
 * Builds the response for the result of a route's document.
 *
 * @param variables the variables of the document
 * @throws the error in the result; NOT_FOUND if there is no record
 */
export function toResponse(
  exchange: Exchange,
  route: Route,
  variables: Readonly<Record<string, unknown>>,
  result: PublicResult,
): HttpResponse {
  if (result.errors) throw errorOf(result);
  const { shape, status } = route;
  if (shape === undefined) return { status, headers: [] };
  const format = negotiateInt64Format(exchange.headers.accept)!;
  const write = writerFor(shape.type, format);
  if (route.list) {
    const page = pageOf(route, variables, result);
    const headers: Headers =
      route.endless || page.pageInfo.hasNextPage ? ['Link', nextLink(exchange, shape, page)] : [];
    return withEtag(exchange, format, status, headers, writeList(write, page.nodes));
  }
  const record = recordOf(route, variables, result);
  // Creating happens at the path of the list, which has no parameter.
  const headers: Headers = status === 201 ? ['Location', `${exchange.route}/${idOf(shape, record)}`] : [];
  return withEtag(exchange, format, status, headers, write(record));
}

/** The page of a list in a result. @throws the error in the result, NOT_FOUND if there is no such list */
export function pageOf(
  route: Route,
  variables: Readonly<Record<string, unknown>>,
  result: PublicResult,
): ResultPage {
  if (result.errors) throw errorOf(result);
  const data = result.data as { page?: ResultPage; parent?: { page: ResultPage } | null };
  const page = data.page ?? data.parent?.page;
  if (!page) throw missing(route, variables);
  return page;
}

/** The single record of a result. @throws the error in the result, NOT_FOUND if there is none */
export function recordOf(
  route: Route,
  variables: Readonly<Record<string, unknown>>,
  result: PublicResult,
): object {
  if (result.errors) throw errorOf(result);
  const record = (result.data as { result?: object | null }).result;
  if (!record) throw missing(route, variables);
  return record;
}

const missing = ({ kind, pathParameter }: Route, variables: Readonly<Record<string, unknown>>) =>
  notFound(kind, String(variables[pathParameter!]));

export const idOf = ({ idField }: Shape, record: object): string =>
  (record as Record<string, string>)[idField]!;

export interface ResultPage {
  nodes: object[];
  /** `endCursor` is present if the list's cursors are not ids. */
  pageInfo: { hasNextPage: boolean; endCursor?: string };
}

/** The link to the next page (RFC 8288), with the filters and limit of this request. */
function nextLink(exchange: Exchange, shape: Shape, page: ResultPage): string {
  const query = new URLSearchParams(exchange.query);
  query.set('after', page.pageInfo.endCursor ?? idOf(shape, page.nodes.at(-1)!));
  return `<${exchange.path}?${query}>; rel="next"`;
}

function withEtag(
  exchange: Exchange,
  format: Int64Format,
  status: number,
  headers: Headers,
  body: string,
): HttpResponse {
  const etag = etagOf(body);
  headers.push('ETag', etag);
  const ifNoneMatch = isRead(exchange) ? exchange.headers['if-none-match'] : undefined;
  if (ifNoneMatch !== undefined && matchesWeakly(ifNoneMatch, etag)) return { status: 304, headers };
  return { status, headers, body, contentType: CONTENT_TYPES[format] };
}

const isRead = ({ method }: Exchange): boolean => method === 'GET' || method === 'HEAD';

function errorOf({ errors, retryAfter }: PublicResult): ReportedError {
  const { message, extensions } = errors![0]!;
  const options = retryAfter === undefined ? {} : { retryAfter };
  return new ReportedError((extensions as AppError['extensions']).code, message, options);
}

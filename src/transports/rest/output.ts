import type { PublicResult } from '../../execution/execute.ts';
import { type AppError, notFound, ReportedError } from '../../foundation/errors.ts';
import { etagOf } from '../../http/etag.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { Headers, HttpResponse } from '../../http/response.ts';
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
  context: RequestContext,
  route: Route,
  variables: Readonly<Record<string, unknown>>,
  result: PublicResult,
): HttpResponse {
  if (result.errors) throw errorOf(result);
  const { shape, status } = route;
  if (shape === undefined) return { status, headers: [] };
  const format = negotiateInt64Format(context.headers.accept)!;
  const write = writerFor(shape.type, format);
  if (route.list) {
    const page = pageOf(route, variables, result);
    const headers: Headers =
      route.endless || page.pageInfo.hasNextPage ? ['Link', nextLink(context, shape, page)] : [];
    return representation(format, status, headers, writeList(write, page.nodes));
  }
  const record = recordOf(route, variables, result);
  // Creating happens at the path of the list, which has no parameter.
  const headers: Headers = status === 201 ? ['Location', `${context.route}/${idOf(shape, record)}`] : [];
  return representation(format, status, headers, write(record));
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
function nextLink(context: RequestContext, shape: Shape, page: ResultPage): string {
  const query = new URLSearchParams(context.query);
  query.set('after', page.pageInfo.endCursor ?? idOf(shape, page.nodes.at(-1)!));
  return `<${context.path}?${query}>; rel="next"`;
}

const representation = (
  format: Int64Format,
  status: number,
  headers: Headers,
  body: string,
): HttpResponse => ({ status, headers, body, contentType: CONTENT_TYPES[format], etag: etagOf(body) });

function errorOf({ errors, retryAfter }: PublicResult): ReportedError {
  const { message, extensions } = errors![0]!;
  const options = retryAfter === undefined ? {} : { retryAfter };
  return new ReportedError((extensions as AppError['extensions']).code, message, options);
}

import type { PublicResult } from '../../execution/execute.ts';
import { type Int64Format, writeList, writeRecord } from '../../execution/representation.ts';
import { endOf, idOf, pageOf, recordOf, throwErrorOf } from '../../execution/route-operation.ts';
import { etagOf } from '../../http/etag.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { Headers, HttpResponse } from '../../http/response.ts';
import type { Route } from '../../schema/route.ts';
import { CONTENT_TYPES } from './media-types.ts';

/**
 * Builds the response for the result of a route's document.
 *
 * @param variables the variables of the document
 * @throws the error in the result; NOT_FOUND if there is no record
 */
export function toResponse(
  context: RequestContext,
  route: Route,
  format: Int64Format,
  variables: Readonly<Record<string, unknown>>,
  result: PublicResult,
): HttpResponse {
  const { shape, status } = route;
  if (shape === undefined) {
    throwErrorOf(result);
    return { status, headers: [] };
  }
  const headers: Headers = [];
  let body: string;
  if (route.list) {
    const page = pageOf(route, variables, result);
    if (route.list === 'log' || page.pageInfo.hasNextPage)
      headers.push('Link', nextLink(context, endOf(shape, page)!));
    body = writeList(shape.type, format, page.nodes);
  } else {
    const record = recordOf(route, variables, result);
    // Creating happens at the path of the list, which has no parameter.
    if (status === 201) headers.push('Location', `${context.route}/${idOf(shape, record)}`);
    body = writeRecord(shape.type, format, record);
  }
  return { status, headers, body, contentType: CONTENT_TYPES[format], etag: etagOf(body) };
}

/** The link to the next page (RFC 8288), with the filters and limit of this request. */
function nextLink(context: RequestContext, after: string): string {
  const query = new URLSearchParams(context.query);
  query.set('after', after);
  return `<${context.path}?${query}>; rel="next"`;
}

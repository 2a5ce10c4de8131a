import type { Route } from '../../domains/route.ts';
import type { Shape } from '../../domains/shape.ts';
import { AppError, notFound } from '../../errors.ts';
import type { PublicResult } from '../../graphql/execute.ts';
import type { Answer } from '../../http/answer.ts';
import { etagOf, matchesWeakly } from '../../http/etag.ts';
import type { Exchange, Headers } from '../../http/exchange.ts';
import { CONTENT_TYPES, type Int64Notation, notationFor } from './media-types.ts';
import { writeList, writerFor } from './representation.ts';

/**
 * The answer to what the document of a route came to.
 *
 * @param variables those of the document
 * @throws the error of the result; NOT_FOUND where there is nothing to answer with
 */
export function answerOf(
  exchange: Exchange,
  route: Route,
  variables: Readonly<Record<string, unknown>>,
  result: PublicResult,
): Answer {
  if (result.errors) throw errorOf(result);
  const { shape, status } = route;
  if (shape === undefined) return { status, headers: [], body: '' };
  const notation = notationFor(exchange.headers.accept)!;
  const write = writerFor(shape.type, notation);
  if (route.list) {
    const data = result.data as { page?: ResultPage; parent?: { page: ResultPage } | null };
    const page = data.page ?? data.parent?.page;
    if (!page) throw missing(route, variables);
    const headers: Headers =
      route.endless || page.pageInfo.hasNextPage ? ['Link', nextLink(exchange, shape, page)] : [];
    return withEtag(exchange, notation, status, headers, writeList(write, page.nodes));
  }
  const record = recordOf(route, variables, result);
  // What creates stands on the path of its list, which has no parameter.
  const headers: Headers = status === 201 ? ['Location', `${exchange.route}/${idOf(shape, record)}`] : [];
  return withEtag(exchange, notation, status, headers, write(record));
}

/** The one record of a result. @throws its error, NOT_FOUND where there is none */
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

const idOf = ({ idField }: Shape, record: object): string => (record as Record<string, string>)[idField]!;

interface ResultPage {
  nodes: object[];
  /** `endCursor` where the list has other cursors than ids. */
  pageInfo: { hasNextPage: boolean; endCursor?: string };
}

/** RFC 8288, with the filters and the limit of this request. */
function nextLink(exchange: Exchange, shape: Shape, page: ResultPage): string {
  const query = new URLSearchParams(exchange.query);
  query.set('after', page.pageInfo.endCursor ?? idOf(shape, page.nodes.at(-1)!));
  return `<${exchange.path}?${query}>; rel="next"`;
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

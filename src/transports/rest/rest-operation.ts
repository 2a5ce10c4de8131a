import type { Session } from '../../access/session.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { Headers, HttpResponse } from '../../http/response.ts';
import type { RouteOperation } from '../route-operation.ts';

/** The parameters in a path, by name, percent-decoded. */
export type PathParameters = Readonly<Record<string, string | undefined>>;

/** The link to the entries after a position (RFC 8288), with the filters and limit of this request. */
export function nextLink(context: RequestContext, after: string): string {
  const query = new URLSearchParams(context.query);
  query.set('after', after);
  return `<${context.path}?${query}>; rel="next"`;
}

/** A route with its way to answer: with a document's result as JSON or line by line, or with a stream of events. */
export interface RestOperation extends RouteOperation {
  /** The headers of its responses if it is deprecated. */
  readonly deprecation?: Headers | undefined;
  /** @throws AppError for invalid or forbidden requests, possibly before anything is charged */
  handle(context: RequestContext, session: Session, parameters: PathParameters): MaybePromise<HttpResponse>;
}

import type { Session } from '../../access/session.ts';
import type { MaybePromise } from '../../foundation/turns.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { Headers, HttpResponse } from '../../http/response.ts';
import type { PreparedRoute } from '../prepared-route.ts';

/** Percent-decoded path parameters, by name. */
export type PathParameters = Readonly<Record<string, string | undefined>>;

/** The `Link` to the entries after a position (RFC 8288), with the filters and limit of this request. */
export function nextLink(context: RequestContext, after: string): string {
  const query = new URLSearchParams(context.query);
  query.set('after', after);
  return `<${context.path}?${query}>; rel="next"`;
}

/** A route with the handler of its requests: for a document's result, or for an event stream. */
export interface RestHandler extends PreparedRoute {
  /** The headers of responses, for a deprecated route. */
  readonly deprecation?: Headers | undefined;
  /** @throws AppError for an invalid or refused request, possibly before anything is charged */
  handle(context: RequestContext, session: Session, parameters: PathParameters): MaybePromise<HttpResponse>;
}

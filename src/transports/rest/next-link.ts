import type { RequestContext } from '../../http/request-context.ts';

/** The link to what comes after a position (RFC 8288), with the filters and limit of this request. */
export function nextLink(context: RequestContext, after: string): string {
  const query = new URLSearchParams(context.query);
  query.set('after', after);
  return `<${context.path}?${query}>; rel="next"`;
}

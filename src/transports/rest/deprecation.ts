import type { Headers } from '../../http/response.ts';
import type { Lifecycle } from '../../schema/lifecycle.ts';
import type { Route } from '../../schema/route.ts';

/** The headers that announce the end of an operation (RFC 9745, RFC 8594). */
export function deprecationHeaders(
  { tag, operationId, deprecation }: Route,
  { deprecationDate, sunsetDate }: Lifecycle,
): Headers | undefined {
  if (!deprecation) return undefined;
  return [
    'Deprecation',
    `@${Math.floor(deprecationDate / 1000)}`,
    'Sunset',
    new Date(sunsetDate).toUTCString(),
    'Link',
    `</docs#tag/${tag}/${operationId}>; rel="deprecation", <${deprecation.successor}>; rel="successor-version"`,
  ];
}

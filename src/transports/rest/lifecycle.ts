import { AppError } from '../../foundation/errors.ts';
import type { Headers } from '../../http/exchange.ts';
import type { Route } from '../../schema/route.ts';

export interface Lifecycle {
  /** Milliseconds since 1970. */
  deprecationDate: number;
  sunsetDate: number;
  /** Whether deprecated operations stop working at the sunset date. */
  sunsetEnforced: boolean;
}

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
    `</docs#/${tag}/${operationId}>; rel="deprecation", <${deprecation.successor}>; rel="successor-version"`,
  ];
}

/** @throws GONE for a deprecated operation past its sunset date, if that is enforced */
export function checkSunset(
  { deprecation }: Route,
  { sunsetDate, sunsetEnforced }: Lifecycle,
  now: number,
): void {
  if (deprecation && sunsetEnforced && now >= sunsetDate) {
    const date = new Date(sunsetDate).toISOString().slice(0, 10);
    throw new AppError('GONE', `This operation ended on ${date}. Use ${deprecation.replacement} instead.`);
  }
}

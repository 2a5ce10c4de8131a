import { AppError } from '../../errors.ts';
import type { Headers } from '../../http/exchange.ts';
import type { Route } from './routes.ts';

export interface Lifecycle {
  /** Milliseconds since 1970. */
  deprecationDate: number;
  sunsetDate: number;
  /** Whether deprecated operations end at the sunset date. */
  sunsetEnforced: boolean;
}

/** Tells callers of deprecated operations what is going to happen: RFC 9745 and RFC 8594 (contract section 6). */
export function deprecationHeaders({ deprecationDate, sunsetDate }: Lifecycle, operationId: string): Headers {
  return [
    'Deprecation',
    `@${Math.floor(deprecationDate / 1000)}`,
    'Sunset',
    new Date(sunsetDate).toUTCString(),
    'Link',
    `</docs#/Pets/${operationId}>; rel="deprecation", </graphql>; rel="successor-version"`,
  ];
}

/** @throws GONE for a deprecated operation past its sunset date, where that is enforced */
export function checkSunset(route: Route, { sunsetDate, sunsetEnforced }: Lifecycle, now: number): void {
  if (route.deprecated && sunsetEnforced && now >= sunsetDate) {
    const date = new Date(sunsetDate).toISOString().slice(0, 10);
    throw new AppError('GONE', `This operation ended on ${date}. Use the GraphQL API instead.`);
  }
}

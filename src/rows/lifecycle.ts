import { AppError } from '../foundation/errors.ts';
import { formatDate } from '../foundation/instant.ts';
import type { Route } from './route.ts';

/** When deprecated operations end. */
export interface Lifecycle {
  /** Milliseconds since 1970. */
  deprecationDate: number;
  sunsetDate: number;
  /** Whether deprecated operations stop working at the sunset date. */
  sunsetEnforced: boolean;
}

/** Reads the lifecycle from the configuration. */
export const lifecycleOf = (config: {
  DEPRECATION_DATE: number;
  SUNSET_DATE: number;
  SUNSET_ENFORCED: boolean;
}): Lifecycle => ({
  deprecationDate: config.DEPRECATION_DATE,
  sunsetDate: config.SUNSET_DATE,
  sunsetEnforced: config.SUNSET_ENFORCED,
});

/** Whether an operation no longer works, which is so after its sunset date where that is enforced. */
export const isPastSunset = (
  { deprecation }: Pick<Route, 'deprecation'>,
  { sunsetDate, sunsetEnforced }: Lifecycle,
  now: number,
): boolean => deprecation !== undefined && sunsetEnforced && now >= sunsetDate;

/** @throws GONE if an operation is past its sunset date */
export function refuseAfterSunset(row: Pick<Route, 'deprecation'>, lifecycle: Lifecycle, now: number): void {
  if (!isPastSunset(row, lifecycle, now)) return;
  const date = formatDate(lifecycle.sunsetDate);
  throw new AppError('GONE', `This operation ended on ${date}. Use ${row.deprecation!.replacement} instead.`);
}

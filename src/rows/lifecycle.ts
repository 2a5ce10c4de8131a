import { AppError } from '../foundation/errors.ts';
import { formatDate } from '../foundation/instant.ts';
import type { Route } from './route.ts';

/** When deprecated operations end, as configured. */
export interface Lifecycle {
  /** Milliseconds since 1970. */
  DEPRECATION_DATE: number;
  SUNSET_DATE: number;
  /** Whether deprecated operations stop working at the sunset date. */
  SUNSET_ENFORCED: boolean;
}

/** Whether an operation no longer works, which is so after its sunset date where that is enforced. */
export const isPastSunset = (
  { deprecation }: Pick<Route, 'deprecation'>,
  { SUNSET_DATE, SUNSET_ENFORCED }: Lifecycle,
  now: number,
): boolean => deprecation !== undefined && SUNSET_ENFORCED && now >= SUNSET_DATE;

/** @throws GONE if an operation is past its sunset date */
export function refuseAfterSunset(row: Pick<Route, 'deprecation'>, lifecycle: Lifecycle, now: number): void {
  if (!isPastSunset(row, lifecycle, now)) return;
  const date = formatDate(lifecycle.SUNSET_DATE);
  throw new AppError('GONE', `This operation ended on ${date}. Use ${row.deprecation!.replacement} instead.`);
}

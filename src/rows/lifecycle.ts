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

/** Refuses a deprecated operation past its sunset date. */
export function gone({ replacement }: NonNullable<Route['deprecation']>, sunsetDate: number): AppError {
  const date = formatDate(sunsetDate);
  return new AppError('GONE', `This operation ended on ${date}. Use ${replacement} instead.`);
}

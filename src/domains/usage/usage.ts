import { firstDateKept } from '../../access/usage-history.ts';
import { validationFailed } from '../../foundation/errors.ts';
import { formatDate } from '../../foundation/instant.ts';
import { DAY, HISTORY_KEPT } from '../../store/usage.ts';

/** Days shown by default, today included. */
const DEFAULT_DAYS = 7;

/** The days asked for. */
export interface DateRange {
  from?: string | null | undefined;
  to?: string | null | undefined;
}

/**
 * The days to read: up to today, and a week by default. Days that are no longer kept are left out.
 *
 * @param now milliseconds since 1970
 * @throws VALIDATION_FAILED if `from` is after `to`
 */
export function rangeOf({ from, to }: DateRange, now: number): { from: string; to: string } {
  const last = to ?? formatDate(now);
  const first = from ?? formatDate(Date.parse(last) - (DEFAULT_DAYS - 1) * DAY);
  if (first > last) throw validationFailed([{ path: 'from', message: 'must not be after to' }]);
  const kept = firstDateKept(now);
  const today = formatDate(now + DAY);
  return { from: first < kept ? kept : first, to: last > today ? today : last };
}

/** The most days that a range can have, for its price. Unknown values count as all that are kept. */
export function daysIn({ from, to }: { from?: unknown; to?: unknown }, now: number): number {
  const time = (value: unknown): number => (typeof value === 'string' ? Date.parse(value) : Number.NaN);
  if (from == null) return DEFAULT_DAYS;
  const days = (to == null ? now : time(to)) - time(from);
  return Number.isNaN(days) ? HISTORY_KEPT : Math.min(HISTORY_KEPT, Math.max(1, Math.floor(days / DAY) + 1));
}

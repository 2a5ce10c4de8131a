/** Units of time, in milliseconds. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:(\.\d{1,3})\d*)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** The bounds of instants that clients can read: Python, .NET and SQL start at year 1, and RFC 3339 ends at 9999. */
const FIRST = Date.parse('0001-01-01T00:00:00.000Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Parses an RFC 3339 date-time strictly: a real calendar day, an offset, no leap second. Digits beyond milliseconds are
 * dropped.
 *
 * @returns milliseconds since 1970; null if the text is malformed or its year in UTC is not 0001..9999
 */
export function parseInstant(text: string): number | null {
  const [, date = '', time, fraction = '', offset = ''] = DATE_TIME.exec(text) ?? [];
  if (parseDate(date) === null) return null;
  const instant = Date.parse(`${date}T${time}${fraction}${offset.toUpperCase()}`);
  return instant >= FIRST && instant <= LAST ? instant : null;
}

/** Formats an instant in UTC as `2026-01-31T09:30:00Z`, with milliseconds only if they are not zero. */
export const formatInstant = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** Formats the day of an instant in UTC: `2026-01-31`. */
export const formatDate = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Parses an RFC 3339 full-date, a real calendar day. @returns the same text; null for anything else */
export function parseDate(text: string): string | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date.parse reads 30 February as 2 March.
  return !Number.isNaN(time) && formatDate(time) === text ? text : null;
}

const UNITS: Readonly<Record<string, number>> = {
  s: SECOND,
  m: MINUTE,
  h: HOUR,
  d: DAY,
  w: 7 * DAY,
};

/** Parses `90s`, `30m`, `24h`, `7d`, `1w` or `0`. @returns milliseconds; null for anything else */
export function parseDuration(text: string): number | null {
  if (text === '0') return 0;
  const match = /^(\d{1,6})([smhdw])$/.exec(text);
  return match ? Number(match[1]) * UNITS[match[2]!]! : null;
}

/** A wall clock and a monotonic clock. */
export interface Clock {
  /** Milliseconds since 1970, as seen by clients and shared by instances. May jump back. */
  now: () => number;
  /** Milliseconds since an arbitrary moment; never jumps back. For anything that must end on time. */
  monotonic: () => number;
}

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() };

/** Formats an instant as RFC 3339, to the second; undefined stays undefined. */
export const isoTime = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : formatInstant(time - (time % 1_000));

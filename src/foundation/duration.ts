const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Parses `90s`, `30m`, `24h`, `7d`, `1w` or `0`. @returns milliseconds; null for anything else */
export function parseDuration(text: string): number | null {
  if (text === '0') return 0;
  const match = /^(\d{1,6})([smhdw])$/.exec(text);
  return match ? Number(match[1]) * UNITS[match[2]!]! : null;
}

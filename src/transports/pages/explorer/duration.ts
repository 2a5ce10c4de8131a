/** Formats a duration: `42 s`, `3 min 5 s`, `23 h 59 min`. @param time in seconds */
export function duration(time: number): string {
  const seconds = Math.max(0, Math.ceil(time));
  if (seconds <= 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

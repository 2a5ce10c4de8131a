import { setFlagsFromString } from 'node:v8';

/** The percentage by which the old generation may grow before garbage collection. */
const GROWTH = 30;

/**
 * Keeps the heap of this process small, for work whose memory must not grow with the length of a file. By default, V8
 * lets the old generation grow to four times the live objects, and keeps 32 MB for new ones, most of them used rows.
 * Must be called before anything large is loaded, since the room for new objects doesn't shrink.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
}

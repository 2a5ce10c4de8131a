import { setFlagsFromString } from 'node:v8';

/** The percentage by which old objects may grow before those that are no longer used are removed. */
const GROWTH = 30;

/**
 * Keeps the heap of this process small, for work whose memory must not grow with the length of a file. V8 prefers time to
 * memory: it lets old objects grow to four times those that live, and keeps 32 MB for new ones, most of which would be
 * rows long done with. Must be called before anything large is loaded, since the room for new objects does not shrink.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
}

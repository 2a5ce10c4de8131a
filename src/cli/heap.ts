import { Session } from 'node:inspector';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** The interval at which the heap is looked at, in milliseconds. */
const LOOK_INTERVAL = 50;
/** The bytes that the heap keeps for new objects, and by which its old ones may grow before garbage is collected. */
const [MAX_NEW, MAX_GROWTH] = [16 * 1_048_576, 8 * 1_048_576];

/**
 * Runs work whose memory must not grow with the length of a file. V8 prefers time to memory: it lets old objects grow to
 * four times those that live, and keeps 32 MB for new ones, most of which would be rows long done with.
 */
export async function withSmallHeap<T>(work: () => Promise<T>): Promise<T> {
  const session = new Session();
  session.connect();
  let smallest = Number.POSITIVE_INFINITY;
  const look = () => {
    const spaces = new Map(getHeapSpaceStatistics().map((space) => [space.space_name, space]));
    if (spaces.get('new_space')!.space_size >= MAX_NEW) setFlagsFromString('--semi-space-growth-factor=1');
    const used = spaces.get('old_space')!.space_used_size;
    smallest = Math.min(smallest, used);
    if (used < smallest + MAX_GROWTH) return;
    smallest = Number.POSITIVE_INFINITY;
    session.post('HeapProfiler.collectGarbage');
  };
  const timer = setInterval(look, LOOK_INTERVAL).unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
    session.disconnect();
  }
}

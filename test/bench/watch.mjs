import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into a server under measurement. Between two messages it watches what the first one asks for: `turn`, the longest
 * turn of its event loop in milliseconds of processor time, which other processes do not lengthen; or `memory`, the most
 * megabytes that are held, without garbage. The second message gets the answer.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
/** Milliseconds between two collections, each of which takes about as long. */
const PAUSE = 15;

const path = `/proc/self/task/${process.pid}/schedstat`;
const spent = () => Number(readFileSync(path, 'latin1').split(' ', 1)[0]) / 1e6;
const held = () => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
};

let watched;
let most = 0;
let before = 0;
let sampled = 0;

function look() {
  if (watched === undefined) return;
  if (watched === 'turn') {
    const now = spent();
    most = Math.max(most, now - before);
    before = now;
  } else if (performance.now() - sampled > PAUSE) {
    most = Math.max(most, held() - before);
    sampled = performance.now();
  }
  setImmediate(look);
}

process.on('message', (message) => {
  watched = message === 'end' ? undefined : message;
  if (watched !== undefined) {
    most = 0;
    before = watched === 'turn' ? spent() : held();
    setImmediate(look);
  }
  process.send(most);
});
// The server must still end when it has nothing left to do.
process.channel?.unref();

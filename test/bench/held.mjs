import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Loaded into a server under measurement: tells how much memory is held between two messages, without garbage. */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
/** Milliseconds between two collections, each of which takes about as long. */
const PAUSE = 15;

const used = () => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

let least = 0;
let most = 0;
let sampled = 0;
let isMeasuring = false;

function sample() {
  if (!isMeasuring) return;
  if (performance.now() - sampled > PAUSE) {
    most = Math.max(most, used());
    sampled = performance.now();
  }
  setImmediate(sample);
}

process.on('message', (message) => {
  isMeasuring = message === 'begin';
  if (isMeasuring) {
    least = used();
    most = least;
    setImmediate(sample);
  }
  process.send(most - least);
});

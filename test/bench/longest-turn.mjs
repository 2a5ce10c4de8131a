import { readFileSync } from 'node:fs';

/**
 * Loaded into a server under measurement: tells the longest turn of its event loop between two messages, in
 * milliseconds of processor time of the thread that runs it, which other processes do not lengthen.
 */
const path = `/proc/self/task/${process.pid}/schedstat`;
const spent = () => Number(readFileSync(path, 'latin1').split(' ', 1)[0]) / 1e6;

let longest = 0;
let began = 0;
let isMeasuring = false;

function turn() {
  if (!isMeasuring) return;
  const now = spent();
  longest = Math.max(longest, now - began);
  began = now;
  setImmediate(turn);
}

process.on('message', (message) => {
  isMeasuring = message === 'begin';
  if (isMeasuring) {
    longest = 0;
    began = spent();
    setImmediate(turn);
  }
  process.send(longest);
});
// The server must still end when it has nothing left to do.
process.channel?.unref();

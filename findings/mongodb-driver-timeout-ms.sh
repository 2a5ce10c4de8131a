#!/usr/bin/env bash
# mongodb 7.8.0 (the Node.js driver), `timeoutMS`: of all limits of time the one that its documentation recommends does
# nothing. A server greets and never answers a command again: with `timeoutMS=300`, on the client, in the URI or of the
# operation, the operation is still pending after 3 s, while `socketTimeoutMS=300` ends it. The driver says so in a warning
# alone, of the client and the URI: "timeoutMS has no effect and will be removed in a future release"; of an operation in none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund mongodb@7.8.0
cat >server.mjs <<'JS'
import { createServer } from 'node:net';
import { BSON } from 'mongodb';

/** A server that answers the commands of a handshake, and hands all others to `then`. */
export function serve(then) {
  return new Promise((listening) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      let rest = Buffer.alloc(0);
      socket.on('data', (bytes) => {
        rest = Buffer.concat([rest, bytes]);
        while (rest.length >= 16 && rest.length >= rest.readInt32LE(0)) {
          const message = rest.subarray(0, rest.readInt32LE(0));
          rest = rest.subarray(message.length);
          const isLegacy = message.readInt32LE(12) === 2004;
          const body = isLegacy ? { hello: 1 } : BSON.deserialize(message.subarray(21));
          if (!body.hello && !body.isMaster && !body.ismaster) {
            then(body, socket);
            continue;
          }
          const reply = BSON.serialize({
            ...{ ok: 1, isWritablePrimary: true, helloOk: true, minWireVersion: 0, maxWireVersion: 21 },
            ...{ maxBsonObjectSize: 16777216, maxMessageSizeBytes: 48000000, maxWriteBatchSize: 100000 },
            ...{ logicalSessionTimeoutMinutes: 30, localTime: new Date() },
          });
          const head = Buffer.alloc(isLegacy ? 36 : 21);
          head.writeInt32LE(head.length + reply.length, 0);
          head.writeInt32LE(message.readInt32LE(4), 8);
          head.writeInt32LE(isLegacy ? 1 : 2013, 12);
          if (isLegacy) head.writeInt32LE(1, 32);
          socket.write(Buffer.concat([head, reply]));
        }
      });
    });
    server.listen(0, '127.0.0.1', () => listening(server.address().port));
  });
}
JS
cat >try.mjs <<'JS'
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { serve } from './server.mjs';

const warnings = [];
process.on('warning', ({ message }) => warnings.push(message));
const port = await serve(() => {});
const outcomeOf = async (options, uriOptions = '', ofCommand = {}) => {
  const uri = `mongodb://127.0.0.1:${port}/?directConnection=true${uriOptions}`;
  const client = new MongoClient(uri, { monitorCommands: false, retryReads: false, ...options });
  await client.connect();
  const began = performance.now();
  const work = client.db('test').collection('pets').findOne({}, ofCommand);
  const outcome = await Promise.race([
    work.then(() => 'an answer', (error) => error.constructor.name),
    sleep(3_000, 'pending'),
  ]);
  client.close(true).catch(() => {});
  return `${outcome} after ${(performance.now() - began) / 1_000 < 2 ? 'less than 2 s' : '3 s'}`;
};
const seen = {
  'timeoutMS of the client': await outcomeOf({ timeoutMS: 300 }),
  'timeoutMS of the URI': await outcomeOf({}, '&timeoutMS=300'),
  'timeoutMS of the operation': await outcomeOf({}, '', { timeoutMS: 300 }),
  socketTimeoutMS: await outcomeOf({ socketTimeoutMS: 300 }),
};
console.log(seen, warnings);
const expected = { ...seen, socketTimeoutMS: 'MongoNetworkTimeoutError after less than 2 s' };
for (const name of Object.keys(seen)) if (name !== 'socketTimeoutMS') expected[name] = 'pending after 3 s';
const holds =
  JSON.stringify(seen) === JSON.stringify(expected) &&
  warnings.some((warning) => warning.includes('timeoutMS has no effect'));
process.exit(holds ? 0 : 1);
JS
node try.mjs

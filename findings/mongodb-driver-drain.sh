#!/usr/bin/env bash
# mongodb 7.8.0 (the Node.js driver): `socketTimeoutMS` ends the connection, but not the operation whose command is still
# being sent over it. A server greets and reads no further. A command of some bytes, which is sent, fails after
# `socketTimeoutMS`. One of 16 MB, more than what the sockets buffer, waits for `drain` of its socket; the driver destroys
# that when the time is over, without an error, and a destroyed socket emits no `drain`: the operation is still pending
# when the connection has long been closed.
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
export function serve(then, opened = () => {}) {
  return new Promise((listening) => {
    const server = createServer((socket) => {
      opened(socket);
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

const outcomeOf = async (documents) => {
  const sockets = new Set();
  const port = await serve(() => {}, (socket) => sockets.add(socket));
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    ...{ retryWrites: false, socketTimeoutMS: 500, minPoolSize: 1, maxPoolSize: 1 },
  });
  const ready = new Promise((resolve) => client.on('connectionReady', resolve));
  await client.connect();
  await ready;
  for (const socket of sockets) socket.pause();
  const work = client.db('test').command({ insert: 'pets', documents });
  const outcome = work.then(() => 'an answer', (error) => error.constructor.name);
  await sleep(3_000);
  // Reads what is left, and sees whether the client has closed the connection of the command.
  let closed = 0;
  for (const socket of sockets) socket.on('close', () => closed++).resume();
  const seen = await Promise.race([outcome, sleep(2_000, 'pending')]);
  client.close(true).catch(() => {});
  return `${seen}, connection ${closed > 0 ? 'closed' : 'open'}`;
};
const large = Array.from({ length: 16 }, () => ({ text: 'x'.repeat(1_000_000) }));
const seen = { small: await outcomeOf([{ text: 'x' }]), large: await outcomeOf(large) };
console.log(seen);
const holds =
  seen.small.startsWith('MongoNetworkTimeoutError') &&
  seen.large === 'pending, connection closed';
process.exit(holds ? 0 : 1);
JS
node try.mjs

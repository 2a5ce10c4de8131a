#!/usr/bin/env bash
# Node.js 24.11 (20 and 26 too, 18 not): a server accepts one connection in a turn of its event loop, however many wait,
# as its libuv has accepted no more than one at a time since 1.45. A server that is busy with clients that keep their
# connections serves all of them in every turn. So beside 20 of those a new client waits for its turn to be accepted
# while each of them is served: 100 clients that connect together have their responses when the older ones have had
# more than a thousand. With Node.js 18 they had about 50.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node@24.11.0
cat >server.mjs <<'JS'
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  // 2 ms of work.
  for (const begun = performance.now(); performance.now() - begun < 2; );
  response.end();
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
JS
cat >try.mjs <<'JS'
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';

const server = fork('server.mjs');
const [port] = await once(server, 'message');
const request = (agent) =>
  new Promise((resolve, reject) =>
    get({ port, host: '127.0.0.1', agent }, (response) => response.resume().on('end', resolve)).on('error', reject),
  );
let served = 0;
const keptAlive = new Agent({ keepAlive: true });
const client = async () => {
  for (;;) {
    await request(keptAlive);
    served++;
  }
};
for (let i = 0; i < 20; i++) client().catch(() => {});
while (served < 200) await request(keptAlive);
served = 0;
await Promise.all(Array.from({ length: 100 }, () => request(false)));
console.log(`until 100 new connections had a response each, 20 older ones had ${served}`);
server.kill();
process.exit(served > 1_000 ? 0 : 1);
JS
node_modules/.bin/node --version
node_modules/.bin/node try.mjs

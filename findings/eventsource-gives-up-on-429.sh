#!/usr/bin/env bash
# The package eventsource reconnects for ever after a lost connection, but a single response other than 200 and a
# redirect closes it for good, whether or not it has Retry-After, as the HTML standard says. A proxy's 502 during a restart
# is enough. Its `error` event has the status as `code`.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error eventsource@5.1.5 >/dev/null
cat >try.mjs <<'J'
import { createServer } from 'node:http';
import { EventSource } from 'eventsource';
const seen = {};
for (const status of [429, 502, 204]) {
  let requests = 0;
  const server = createServer((_, response) => {
    requests++;
    if (requests > 1) return response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: x\n\n');
    response.writeHead(status, { 'Retry-After': '1' }).end();
  }).listen(0);
  const source = new EventSource(`http://localhost:${server.address().port}/`);
  let code;
  source.addEventListener('error', (event) => (code = event.code));
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  seen[status] = { requests, code, isClosed: source.readyState === source.CLOSED };
  source.close();
  server.closeAllConnections();
  server.close();
}
console.log('eventsource 5.1.5:', JSON.stringify(seen));
process.exit(Object.entries(seen).every(([status, { requests, code, isClosed }]) => requests === 1 && isClosed && code === Number(status)) ? 0 : 1);
J
node try.mjs

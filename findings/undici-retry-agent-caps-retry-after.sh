#!/usr/bin/env bash
# undici's RetryAgent heeds Retry-After, but waits at most maxTimeout, 30 s by default, without saying so: after a 429 with
# Retry-After: 40 it asks again 10 s too early. Shown by a maxTimeout of 1 s.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error undici@7.30.2 >/dev/null
cat >try.mjs <<'J'
import { createServer } from 'node:http';
import { Agent, request, RetryAgent } from 'undici';
const waits = {};
for (const maxTimeout of [1_000, 10_000]) {
  const times = [];
  const server = createServer((_, response) => {
    times.push(Date.now());
    response.writeHead(times.length > 1 ? 200 : 429, { 'Retry-After': '4' }).end();
  }).listen(0);
  const dispatcher = new RetryAgent(new Agent(), { maxTimeout });
  const { body } = await request(`http://localhost:${server.address().port}/`, { dispatcher });
  await body.dump();
  waits[maxTimeout] = Math.round((times[1] - times[0]) / 1000);
  await dispatcher.close().catch(() => {});
  server.closeAllConnections();
  server.close();
}
console.log('undici 7.30.2: Retry-After: 4 is waited', JSON.stringify(waits), 's by maxTimeout');
process.exit(waits[1_000] === 1 && waits[10_000] === 4 ? 0 : 1);
J
node try.mjs

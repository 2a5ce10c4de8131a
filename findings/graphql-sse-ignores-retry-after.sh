#!/usr/bin/env bash
# graphql-sse repeats a subscription that was refused by 429 after its own back-off, Retry-After or not, five times within
# about 40 seconds. Each comes before Retry-After is over, so that a limiter that counts such retries sees abuse.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error graphql-sse@2.6.1 graphql@16.15.0 >/dev/null
cat >try.mjs <<'J'
import { createServer } from 'node:http';
import { createClient } from 'graphql-sse';
const times = [];
const server = createServer((request, response) => {
  request.resume();
  times.push(Date.now());
  response.writeHead(429, { 'Retry-After': '60' }).end();
}).listen(0);
const client = createClient({ url: `http://localhost:${server.address().port}/` });
const began = Date.now();
await new Promise((resolve) => client.subscribe({ query: 'subscription { x }' }, { next() {}, complete: resolve, error: resolve }));
const seconds = Math.round((Date.now() - began) / 1000);
console.log(`graphql-sse 2.6.1: ${times.length} requests in ${seconds} s, Retry-After: 60`);
process.exit(times.length === 6 && seconds < 60 ? 0 : 1);
J
node try.mjs

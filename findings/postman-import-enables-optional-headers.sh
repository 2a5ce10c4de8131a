#!/usr/bin/env bash
# openapi-to-postmanv2, Postman's importer, switches optional headers on and by default fills them with the name of their
# type, even where the description has an example. A collection that is run sends `Idempotency-Key: <string>` with each POST.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error openapi-to-postmanv2@6.3.3 >/dev/null
cat >try.cjs <<'J'
const { convert } = require('openapi-to-postmanv2');
const header = { name: 'Idempotency-Key', in: 'header', required: false, schema: { type: 'string' }, example: 'abc' };
const operation = (operationId) => ({ operationId, parameters: [header], responses: { 201: { description: 'Created.' } } });
const paths = { '/a': { post: operation('a') }, '/b': { post: operation('b') } };
const data = { openapi: '3.0.3', info: { title: 't', version: '1' }, paths };
convert({ type: 'json', data }, {}, (error, { output }) => {
  if (error) throw error;
  const requests = [];
  const walk = (items) => items.forEach((item) => (item.item ? walk(item.item) : requests.push(item.request)));
  walk(output[0].data.item);
  const sent = requests.map(({ header }) => header.find(({ key }) => key === 'Idempotency-Key'));
  console.log('openapi-to-postmanv2 6.3.3:', sent.map(({ value, disabled }) => `${value} disabled: ${disabled === true}`).join('; '));
  process.exit(sent.length === 2 && sent.every(({ value, disabled }) => value === '<string>' && disabled !== true) ? 0 : 1);
});
J
node try.cjs

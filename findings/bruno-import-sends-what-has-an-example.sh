#!/usr/bin/env bash
# @usebruno/converters, Bruno's importer of OpenAPI, switches on each optional parameter and header that has an example or a
# default, and no other. A POST with a well documented Idempotency-Key then replays the first one; without its example it is
# off. A first entry of `examples` without a value, for "not sent", keeps it off and the example readable.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @usebruno/converters@0.23.0 >/dev/null
cat >try.cjs <<'J'
const { openApiToBruno } = require('@usebruno/converters');
const optional = (name, more) => ({ name, in: 'header', required: false, schema: { type: 'string' }, ...more });
const parameters = [
  optional('Plain'),
  optional('With-Example', { example: 'abc' }),
  optional('With-Default', { schema: { type: 'string', default: 'abc' } }),
  optional('With-Examples', { examples: { none: { summary: 'Not sent' }, sent: { value: 'abc' } } }),
];
const paths = { '/a': { post: { operationId: 'a', parameters, responses: { 201: { description: 'Created.' } } } } };
const { items } = openApiToBruno({ openapi: '3.0.3', info: { title: 't', version: '1' }, paths });
const on = items.flatMap((item) => item.items ?? item)[0].request.headers.filter(({ enabled }) => enabled);
const names = on.map(({ name }) => name).join(', ');
console.log('@usebruno/converters 0.23.0: switched on though optional:', names);
process.exit(names === 'With-Example, With-Default' ? 0 : 1);
J
node try.cjs

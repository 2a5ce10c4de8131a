#!/usr/bin/env bash
# csv-stringify writes true as 1, false as nothing, which is what it writes for null too, and a Date as milliseconds since
# 1970. So a record that a program has read as JSON loses "no" on its way through CSV. `cast` sets other texts.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
npm install --silent --no-audit --no-fund --prefix . csv-stringify@6.9.0 >/dev/null
cat > finding.mjs <<'J'
import assert from 'node:assert/strict';
import { stringify } from 'csv-stringify/sync';

const orders = [
  { id: 1, complete: true, shipDate: new Date('2026-12-01T09:30:00Z') },
  { id: 2, complete: false },
  { id: 3, complete: null },
];
const plain = stringify(orders, { header: true });
const cast = { boolean: String, date: (date) => date.toISOString() };
const set = stringify(orders, { header: true, cast });
console.log(`csv-stringify 6.9.0:\n${plain}\nwith cast:\n${set}`);
assert.equal(plain, 'id,complete,shipDate\n1,1,1796117400000\n2,,\n3,,\n');
assert.equal(set, 'id,complete,shipDate\n1,true,2026-12-01T09:30:00.000Z\n2,false,\n3,,\n');
J
node finding.mjs

#!/usr/bin/env bash
# libsql 0.5.29 (npm): text is read up to its first U+0000, without an error, though it is stored whole; node:sqlite reads
# all of it. As part of JSON (json_array), where it is escaped, it arrives. Seen with Node 20.20 on
# 2026-11-27:
#
#   {"read":"a","stored":3,"asJson":"[\"a\\u0000b\"]"}
#
# Expected: "a\u0000b", as bound.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund libsql@0.5.29
cat >run.mjs <<'JS'
import Database from 'libsql';
const db = new Database(':memory:');
db.exec('create table t (a text)');
db.prepare('insert into t values (?)').run('a\0b');
const { a: read } = db.prepare('select a from t').get();
const [stored, asJson] = db.prepare('select octet_length(a), json_array(a) from t').raw().get();
console.log(JSON.stringify({ read, stored, asJson }));
JS
seen=$(node run.mjs)
echo "$seen"
[ "$seen" = '{"read":"a","stored":3,"asJson":"[\"a\\u0000b\"]"}' ] || {
  echo 'It has changed.'
  exit 1
}

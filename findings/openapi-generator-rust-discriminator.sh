#!/usr/bin/env bash
# For a oneOf with a discriminator, the Rust generator of openapi-generator writes an enum with serde's `tag`, which takes the
# property out of the object, and structs that require this property, as OpenAPI says they must: the client compiles, and no
# object can be read ("missing field `kind`"). Without the discriminator the enum is untagged, and reads all. Needs java, mvn
# and cargo.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
mvn -q -B dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.25.0 -DoutputDirectory=.
describe() {
  cat <<J
{
  "openapi": "3.0.3",
  "info": { "title": "t", "version": "1" },
  "paths": { "/pet": { "get": { "responses": { "200": { "description": "OK", "content": { "application/json": { "schema": { "\$ref": "#/components/schemas/Pet" } } } } } } } },
  "components": {
    "schemas": {
      "Pet": { "oneOf": [{ "\$ref": "#/components/schemas/Dog" }, { "\$ref": "#/components/schemas/Cat" }]$1 },
      "Dog": { "type": "object", "required": ["kind", "barks"], "properties": { "kind": { "type": "string", "enum": ["dog"] }, "barks": { "type": "boolean" } } },
      "Cat": { "type": "object", "required": ["kind", "purrs"], "properties": { "kind": { "type": "string", "enum": ["cat"] }, "purrs": { "type": "boolean" } } }
    }
  }
}
J
}
describe ', "discriminator": { "propertyName": "kind", "mapping": { "dog": "#/components/schemas/Dog", "cat": "#/components/schemas/Cat" } }' >tagged.json
describe '' >untagged.json
read_pet() {
  java -jar openapi-generator-cli-7.25.0.jar generate -q -i "$1.json" -g rust -o "$1" >log 2>&1
  cd "$1"
  # Its models alone, which need no client of HTTP.
  rm -r src/apis
  cat >Cargo.toml <<'T'
[package]
name = "client"
version = "0.1.0"
edition = "2021"
[dependencies]
serde = { version = "=1.0.228", features = ["derive"] }
serde_json = "=1.0.145"
T
  cat >src/main.rs <<'R'
#![allow(dead_code, unused_imports)]
mod models;
fn main() {
    match serde_json::from_str::<models::Pet>(r#"{"kind": "cat", "purrs": true}"#) {
        Ok(_) => println!("read"),
        Err(error) => println!("{error}"),
    }
}
R
  rm src/lib.rs
  CARGO_TARGET_DIR=$home/target cargo run --quiet
  cd ..
}
tagged=$(read_pet tagged)
untagged=$(read_pet untagged)
echo "openapi-generator 7.25.0: a cat with the discriminator: $tagged; without: $untagged"
[[ $tagged == 'missing field `kind`'* ]] && [ "$untagged" = read ]

#!/usr/bin/env bash
# The Go generator of openapi-generator writes a function NewPet that makes a Pet. A description with a schema Pet and a schema
# NewPet, for what is sent to create one, gives two declarations of NewPet in one package: it generates without a warning and
# does not compile. `--model-name-mappings NewPet=PetInput` does. Needs java, mvn and go.
set -euo pipefail
export PATH="$PATH:/usr/local/go/bin"
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
mvn -q -B dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.25.0 -DoutputDirectory=.
cat >openapi.json <<'J'
{
  "openapi": "3.0.3",
  "info": { "title": "t", "version": "1" },
  "paths": {
    "/pets": {
      "post": {
        "operationId": "createPet",
        "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/NewPet" } } } },
        "responses": { "201": { "description": "Created.", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } } }
      }
    }
  },
  "components": {
    "schemas": {
      "Pet": { "type": "object", "required": ["id", "name"], "properties": { "id": { "type": "integer" }, "name": { "type": "string" } } },
      "NewPet": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } }
    }
  }
}
J
compile() {
  java -jar openapi-generator-cli-7.25.0.jar generate -q -i openapi.json -g go -o "$1" \
    --additional-properties=packageName=client,withGoMod=false "${@:2}" >/dev/null 2>&1
  rm -rf "$1/test"
  (cd "$1" && go mod init client >/dev/null 2>&1 && go mod tidy >/dev/null 2>&1 && go build ./... 2>&1) || true
}
plain=$(compile plain)
mapped=$(compile mapped --model-name-mappings NewPet=PetInput)
echo "openapi-generator 7.25.0: $(echo "$plain" | grep -m 1 redeclared), with the mapping: ${mapped:-compiles}"
grep -q 'NewPet redeclared' <<<"$plain" && [ -z "$mapped" ]

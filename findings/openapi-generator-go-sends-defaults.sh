#!/usr/bin/env bash
# Clients that openapi-generator makes for Go send each optional query parameter that has a `default`, also if the caller sets
# none of them; those for Java leave it out. So a default that is right only in the absence of another parameter, as that of
# `sort` beside a search, makes valid calls wrong for one language alone. Needs java and mvn.
set -euo pipefail
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
      "get": {
        "operationId": "listPets",
        "parameters": [{ "name": "sort", "in": "query", "schema": { "type": "string", "default": "id" } }],
        "responses": { "200": { "description": "OK." } }
      }
    }
  }
}
J
for language in go java; do
  java -jar openapi-generator-cli-7.25.0.jar generate -q -i openapi.json -g $language -o $language >/dev/null 2>&1
done
echo 'openapi-generator 7.25.0, Go, sort not set by the caller:'
grep -A 3 'if r.sort != nil' go/api_default.go
java=$({ grep -rhoE '= *"id"' java/src/main || true; } | wc -l)
echo "Java: $java places that set it"
grep -qE 'defaultValue.* = "id"' go/api_default.go && [ "$java" -eq 0 ]

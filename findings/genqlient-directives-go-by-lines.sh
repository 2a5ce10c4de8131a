#!/usr/bin/env bash
# A comment `# @genqlient` applies to all that begins on the next line. `for:` above an operation whose variables are on its first
# line is refused as "only applicable to operations and arguments", though it stands above an operation; with the variables on
# lines of their own it works. `for:` is needed with `optional: pointer`, which sends null for fields that were left out: in a
# patch, that removes values. Needs go.
set -euo pipefail
export PATH="$PATH:/usr/local/go/bin"
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
go mod init t >/dev/null 2>&1
# The version of x/tools that it asks for does not compile with the current Go.
go get github.com/Khan/genqlient@v0.8.1 github.com/Khan/genqlient/generate@v0.8.1 golang.org/x/tools@v0.40.0 >/dev/null 2>&1
printf 'type Query { t: Int }\ntype Mutation { update(input: Patch!): Int }\ninput Patch { a: Int b: Int }\n' >schema.graphql
printf 'schema: schema.graphql\noperations: [operations.graphql]\ngenerated: generated.go\npackage: t\noptional: pointer\n' >genqlient.yaml
directive='# @genqlient(for: "Patch.b", omitempty: true)'
generate() {
  printf "$directive\n$1 {\n  update(input: \$input)\n}\n" >operations.graphql
  rm -f generated.go
  go run github.com/Khan/genqlient >report 2>&1 || true
  if [ -f generated.go ]; then grep -o 'json:"[ab][^`]*"' generated.go | paste -sd ' '; else grep -o 'for is only.*' report; fi
}
one=$(generate 'mutation Update($input: Patch!)')
lines=$(generate 'mutation Update(\n  $input: Patch!\n)')
echo "genqlient 0.8.1: variables on the operation's line: $one; on their own: $lines"
[ "$one" = 'for is only applicable to operations and arguments' ] && [ "$lines" = 'json:"a" json:"b,omitempty"' ]

#!/usr/bin/env bash
# dasel 3 takes a JSON number without a point for an integer, so that 1e3 and 1E-3 fail as "invalid syntax", while 1.0e3 is
# read. It writes large and small numbers in the form that it refuses: what it wrote for 1.0e30, it does not read again. An
# integer beyond int64 is refused as well. Needs go.
set -euo pipefail
export PATH="$PATH:/usr/local/go/bin"
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
export GOBIN=$home
go install github.com/tomwright/dasel/v3/cmd/dasel@v3.11.2 2>/dev/null
dasel() { ./dasel -i json -o json 2>&1 | tr -d '\n'; }
point=$(echo '1.0e3' | dasel)
none=$(echo '1e3' | dasel || true)
written=$(echo '1.0e30' | dasel)
again=$(echo "$written" | dasel || true)
large=$(echo '9223372036854775808' | dasel || true)
printf 'dasel 3.11.2: %s\n' "1.0e3: $point" "1e3: $none" "1.0e30: $written" "$written: $again" "9223372036854775808: $large"
[ "$point" = 1000 ] && [ "$written" = '1e+30' ]
for refused in "$none" "$again"; do [[ $refused == *ParseInt*'invalid syntax'* ]]; done
[[ $large == *'value out of range'* ]]

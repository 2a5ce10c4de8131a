#!/usr/bin/env bash
# Polars and DuckDB look at the first records of JSON lines for their columns: at 100 and at 20,480. A field that comes later,
# as optional ones do that are left out where absent, is dropped without a word. Polars reads all with
# infer_schema_length=None, DuckDB with sample_size=-1, and pyarrow by default.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/env"
"$home/env/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1
cd "$home"
env/bin/python - <<'P'
import json
import duckdb, polars, pyarrow.json
def orders(before):
    with open(f"{before}.ndjson", "w") as file:
        for id in range(1, before + 1):
            print(json.dumps({"id": id}), file=file)
        print(json.dumps({"id": before + 1, "shipDate": "2026-12-01T09:30:00Z"}), file=file)
    return f"{before}.ndjson"
def in_duckdb(path, options=""):
    return duckdb.sql(f"select * from read_json('{path}'{options})").columns
seen = {
    "Polars 2.1.0, after 99": polars.read_ndjson(orders(99)).columns,
    "Polars 2.1.0, after 100": polars.read_ndjson(orders(100)).columns,
    "the same, infer_schema_length=None": polars.read_ndjson(orders(100), infer_schema_length=None).columns,
    "DuckDB 2.0.1, after 20,479": in_duckdb(orders(20_479)),
    "DuckDB 2.0.1, after 20,480": in_duckdb(orders(20_480)),
    "the same, sample_size=-1": in_duckdb(orders(20_480), ", sample_size=-1"),
    "pyarrow 26.0.1": pyarrow.json.read_json(orders(20_480)).column_names,
}
for reader, columns in seen.items():
    print(f"{reader}: {', '.join(columns)}")
both = ["id", "shipDate"]
assert list(seen.values()) == [both, ["id"], both, both, ["id"], both, both]
P

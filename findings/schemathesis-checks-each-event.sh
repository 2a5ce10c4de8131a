#!/usr/bin/env bash
# schemathesis checks the schema of a text/event-stream response against each event, as an object with `event`, `data` and
# `retry`, unlike that of any other text: `type: string`, which describes the body and which generators need, fails as soon as
# one event comes, and passes on a stream without one. A response without a schema passes.
set -euo pipefail
home=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check schemathesis==4.32.5
cat >server.py <<'P'
import http.server, json, sys
MEDIA = {"/string": {"schema": {"type": "string"}}, "/none": {}}
OPENAPI = {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {
    path: {"get": {"responses": {"200": {"description": "OK.", "content": {"text/event-stream": media}}}}}
    for path, media in MEDIA.items()}}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_stream = self.path in MEDIA
        body = b"event: added\ndata: {}\n\n" if is_stream else json.dumps(OPENAPI).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
P
python3 server.py >port &
server=$!
until [ -s port ]; do sleep 0.1; done
run() {
  env/bin/schemathesis run "http://127.0.0.1:$(cat port)/openapi.json" --include-path "$1" \
    --checks response_schema_conformance --phases coverage --generation-database none >"log$(basename "$1")" 2>&1 &&
    echo passes || echo "fails ($(grep -o 'SSE event violates schema' "log$(basename "$1")" | head -n 1))"
}
string=$(run /string)
none=$(run /none)
echo "schemathesis 4.32.5: type string: $string; no schema: $none"
[ "$string" = 'fails (SSE event violates schema)' ] && [ "$none" = passes ]

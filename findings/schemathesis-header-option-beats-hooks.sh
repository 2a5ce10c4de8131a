#!/usr/bin/env bash
# A before_call hook of schemathesis changes headers of a case, but not one of `--header`: the case shows the hook's value,
# the request has that of the command line, without a warning. So a hook that gives an operation which ends the key another
# key changes nothing, and all later requests are 401. An `auth` of requests that the hook adds to the call replaces it.
set -euo pipefail
home=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check schemathesis==4.32.5
cat >server.py <<'P'
import http.server, json, sys
OPENAPI = {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {
    "/pets": {"get": {"responses": {"200": {"description": "OK."}}}}}}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_call = self.path == "/pets"
        if is_call: print(self.headers["X-Key"], file=sys.stderr, flush=True)
        body = b"" if is_call else json.dumps(OPENAPI).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
P
cat >hooks.py <<'P'
import os, schemathesis
def replace(request):
    request.headers["X-Key"] = "hook"
    return request
@schemathesis.hook
def before_call(context, case, kwargs):
    case.headers["X-Key"] = "hook"
    if os.environ["BY"] == "auth": kwargs["auth"] = replace
P
python3 server.py >port 2>received &
server=$!
until [ -s port ]; do sleep 0.1; done
run() {
  : >received
  BY=$1 SCHEMATHESIS_HOOKS=hooks.py env/bin/schemathesis run "http://127.0.0.1:$(cat port)/openapi.json" "${@:2}" \
    --checks not_a_server_error --phases fuzzing --max-examples 1 --generation-database none >log
  tr -d '\0' <received | sort -u | paste -sd ,
}
alone=$(run headers)
option=$(run headers --header 'X-Key: option')
auth=$(run auth --header 'X-Key: option')
echo "schemathesis 4.32.5: the server receives: hook alone: $alone; with --header: $option; with --header and auth: $auth"
[ "$alone" = hook ] && [ "$option" = option ] && [ "$auth" = hook ]

#!/usr/bin/env bash
# httpx-sse raises SSEError for a response that is no stream, a 401 or 429 with JSON, and SSEError is an
# httpx.TransportError: a loop that reconnects after `except httpx.TransportError` takes a refusal for a lost connection.
# It is raised by iter_sse, not by connect_sse, and hides the status.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/env"
"$home/env/bin/pip" install --quiet httpx==0.28.1 httpx-sse==0.4.3
"$home/env/bin/python" - <<'P'
import httpx, httpx_sse
def refuse(request):
    return httpx.Response(401, json={"message": "no"})
client = httpx.Client(transport=httpx.MockTransport(refuse))
with httpx_sse.connect_sse(client, "GET", "http://localhost/") as source:
    try:
        list(source.iter_sse())
        raise SystemExit("no error")
    except httpx.TransportError as error:
        print("httpx-sse 0.4.3:", type(error).__name__, "is a TransportError:", error)
        assert isinstance(error, httpx_sse.SSEError) and "401" not in str(error)
P

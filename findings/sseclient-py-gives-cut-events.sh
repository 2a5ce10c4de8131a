#!/usr/bin/env bash
# sseclient-py gives the event that a stream ended in the middle of, with its id, as if it were whole; the HTML standard says
# to discard it, as httpx-sse does. A reader that resumes after that id never sees the rest. `retry:` in a block of its own is
# lost, and an event without an id has None, not the latest id.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/env"
"$home/env/bin/pip" install --quiet --disable-pip-version-check sseclient-py==1.9.0 httpx==0.28.1 httpx-sse==0.4.3
"$home/env/bin/python" - <<'P'
import httpx, httpx_sse, sseclient
# The third event has a second line, which does not come any more.
STREAM = b"retry: 5000\n\nid: 1\ndata: a\n\ndata: b\n\nid: 3\ndata: c\n"
def shown(events):
    return [(event.id, event.data, event.retry) for event in events if event.data]
def respond(request):
    return httpx.Response(200, content=STREAM, headers={"content-type": "text/event-stream"})
with httpx_sse.connect_sse(httpx.Client(transport=httpx.MockTransport(respond)), "GET", "http://localhost/") as source:
    other = shown(source.iter_sse())
seen = shown(sseclient.SSEClient(iter([STREAM])).events())
print("sseclient-py 1.9.0:", seen)
print("httpx-sse 0.4.3:", other)
assert seen == [("1", "a", None), (None, "b", None), ("3", "c", None)]
assert other == [("1", "a", None), ("1", "b", None)]
P

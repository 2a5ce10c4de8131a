#!/usr/bin/env bash
# `pip install 'smolagents[mcp]'` 1.26 brings mcpadapt 0.1, which takes any mcp but imports a function that mcp 2 has under
# another name. ToolCollection.from_mcp turns that into "Please install 'mcp' extra", which is installed. With mcp below 2
# the same message hides that websockets is missing; with both it loads.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/env"
pip() { "$home/env/bin/pip" install --quiet --disable-pip-version-check "$@"; }
try() {
  "$home/env/bin/python" - <<'P'
from smolagents import ToolCollection
# Nothing listens there: an attempt to connect shows that the adapter has loaded.
server = {"url": "http://127.0.0.1:9/mcp", "transport": "streamable-http"}
try:
    with ToolCollection.from_mcp(server, trust_remote_code=True, structured_output=True):
        print("connected")
except ImportError as error:
    print("asks for the extra" if "smolagents[mcp]" in str(error) else error)
except BaseException:
    print("loads")
P
}
pip 'smolagents[mcp]==1.26.0' mcpadapt==0.1.19 mcp==2.3.0
latest=$(try 2>/dev/null | tail -n 1)
pip mcp==1.30.0
earlier=$(try 2>/dev/null | tail -n 1)
pip websockets==15.0.1
both=$(try 2>/dev/null | tail -n 1)
echo "smolagents[mcp] 1.26.0 with mcp 2.3.0: $latest; with mcp 1.30.0: $earlier; and websockets: $both"
[ "$latest; $earlier; $both" = 'asks for the extra; asks for the extra; loads' ]

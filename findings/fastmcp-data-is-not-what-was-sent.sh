#!/usr/bin/env bash
# The `data` of a result of fastmcp's client is made from the tool's output schema, not from what was sent: an optional value
# that is absent has the schema's default, and properties that the schema does not name are gone. If one value is valid but no
# datetime of Python, as 23:59:60 of a leap second, `data` as a whole is None, with a line in the log but no exception: as if
# the tool had returned nothing. `structured_content` is what was sent.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/env"
"$home/env/bin/pip" install --quiet --disable-pip-version-check fastmcp==4.2.3
"$home/env/bin/python" - 2>/dev/null <<'P'
import asyncio, json
from fastmcp import Client, FastMCP
from fastmcp.tools import Tool, ToolResult
STATUS = {"type": "string", "default": "available"}
TIME = {"type": "string", "format": "date-time"}
SCHEMA = {"type": "object", "properties": {"status": STATUS, "shipDate": TIME}}
class Echo(Tool):
    async def run(self, arguments):
        return ToolResult(structured_content=json.loads(arguments["json"]))
server = FastMCP("echo")
server.add_tool(Echo(name="echo", parameters={"type": "object"}, output_schema=SCHEMA))
async def main():
    async with Client(server) as client:
        async def data(sent):
            result = await client.call_tool("echo", {"json": json.dumps(sent)})
            assert result.structured_content == sent
            print("fastmcp 4.2.3:", sent, "is", result.data)
            return result.data
        absent = await data({"note": "unnamed"})
        assert absent.status == "available" and not hasattr(absent, "note")
        assert (await data({"status": "sold", "shipDate": "2016-12-31T23:59:59Z"})).status == "sold"
        assert await data({"status": "sold", "shipDate": "2016-12-31T23:59:60Z"}) is None
asyncio.run(main())
P

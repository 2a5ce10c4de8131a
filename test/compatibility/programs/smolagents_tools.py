"""Calls tools through smolagents, whose tools check arguments against their schemas."""

import json
import sys

from smolagents import ToolCollection

url, key = sys.argv[1:]
server = {"url": url + "/mcp", "transport": "streamable-http", "headers": {"X-API-Key": key}}
with ToolCollection.from_mcp(server, trust_remote_code=True, structured_output=True) as collection:
    tools = {tool.name: tool for tool in collection.tools}
    pets = tools["listPets"](limit=2, status=None, after=None)
    items = (pets if isinstance(pets, dict) else json.loads(pets))["items"]
    try:
        missing = tools["getPet"](petId="999999")
    except Exception as error:
        missing = error
    print(f"{len(tools)} tools, {len(items)} pets with nulls, refused: {missing}")

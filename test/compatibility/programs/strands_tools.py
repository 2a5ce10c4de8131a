"""Calls tools through Strands."""

import sys

from strands.tools.mcp import MCPClient

url, key = sys.argv[1:]
with MCPClient(url=url + "/mcp", headers={"X-API-Key": key}) as client:
    tools = client.list_tools_sync()
    pets = client.call_tool_sync("1", "listPets", {"limit": 2, "status": None, "after": None})
    missing = client.call_tool_sync("2", "getPet", {"petId": "999999"})
    print(
        f"{len(tools)} tools, {len(pets['structuredContent']['items'])} pets with nulls, "
        f"refused: {missing['content'][0]['text']}"
    )

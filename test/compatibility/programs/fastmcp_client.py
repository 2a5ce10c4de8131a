"""Calls tools through the client of FastMCP."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError


async def main(url, key):
    async with Client(StreamableHttpTransport(url + "/mcp", headers={"X-API-Key": key})) as client:
        tools = await client.list_tools()
        pets = await client.call_tool("listPets", {"limit": 2, "status": None, "after": None})
        try:
            await client.call_tool("getPet", {"petId": "999999"})
        except ToolError as error:
            print(f"{len(tools)} tools, {len(pets.structured_content['items'])} pets with nulls, refused: {error}")


asyncio.run(main(*sys.argv[1:]))

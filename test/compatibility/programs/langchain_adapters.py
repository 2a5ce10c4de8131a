"""Calls tools through LangChain's adapters."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(url, key):
    server = {"transport": "streamable_http", "url": url + "/mcp", "headers": {"X-API-Key": key}}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"petstore": server}).get_tools()}
    [answer] = await tools["listPets"].ainvoke({"limit": 2, "status": None, "after": None})
    missing = await tools["getPet"].ainvoke({"petId": "999999"})
    print(f"{len(tools)} tools, {len(json.loads(answer['text'])['items'])} pets with nulls, refused: {missing}")


asyncio.run(main(*sys.argv[1:]))

"""Calls tools through LlamaIndex, whose tools pass null for each argument that a model leaves out."""

import asyncio
import sys

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


async def main(url, key):
    client = BasicMCPClient(url + "/mcp", headers={"X-API-Key": key})
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client).to_tool_list_async()}
    pets = await tools["listPets"].acall(limit=2, status=None, after=None)
    missing = await tools["getPet"].acall(petId="999999")
    print(
        f"{len(tools)} tools, {len(pets.raw_output.structured_content['items'])} pets with nulls, "
        f"refused: {missing.raw_output.content[0].text}"
    )


asyncio.run(main(*sys.argv[1:]))

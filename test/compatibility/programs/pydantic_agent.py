"""Runs an agent of Pydantic AI, whose model is a function that calls tools with nulls."""

import asyncio
import sys

from fastmcp.client.transports import StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

CALLS = [
    ToolCallPart("listPets", {"limit": 2, "status": None, "after": None}),
    ToolCallPart("getPet", {"petId": "999999"}),
]
seen = []


def model(messages, info):
    seen.extend(part.content for part in messages[-1].parts if hasattr(part, "tool_name"))
    if len(seen) == 0:
        seen.append(len(info.function_tools))
    return ModelResponse([CALLS[len(seen) - 1] if len(seen) <= len(CALLS) else TextPart("Done")])


async def main(url, key):
    transport = StreamableHttpTransport(url + "/mcp", headers={"X-API-Key": key})
    await Agent(FunctionModel(model), toolsets=[MCPToolset(transport)]).run("Which pets are there?")
    tools, pets, missing = seen
    print(f"{tools} tools, {len(pets['items'])} pets with nulls, refused: {missing}")


asyncio.run(main(*sys.argv[1:]))

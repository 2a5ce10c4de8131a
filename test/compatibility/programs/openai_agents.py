"""Calls tools as OpenAI's Agents SDK does with strict schemas, which make a model give every argument."""

import asyncio
import json
import sys

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext


async def main(url, key):
    params = {"url": url + "/mcp", "headers": {"X-API-Key": key}}
    async with MCPServerStreamableHttp(params, use_structured_content=True) as server:
        agent = Agent(name="Clerk", mcp_servers=[server])
        found = await MCPUtil.get_all_function_tools(
            [server], convert_schemas_to_strict=True, run_context=RunContextWrapper(None), agent=agent
        )
        tools = {tool.name: tool for tool in found}

        async def call(name, **arguments):
            everything = {argument: None for argument in tools[name].params_json_schema["required"]} | arguments
            text = json.dumps(everything)
            context = ToolContext(None, tool_name=name, tool_call_id=name, tool_arguments=text)
            return await tools[name].on_invoke_tool(context, text)

        pets = await call("listPets", limit=2)
        missing = await call("getPet", petId="999999")
        print(f"{len(tools)} tools, {len(json.loads(pets)['items'])} pets with nulls, refused: {missing}")


asyncio.run(main(*sys.argv[1:]))

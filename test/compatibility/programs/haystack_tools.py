"""Calls tools through Haystack."""

import json
import sys

from haystack.utils import Secret
from haystack_integrations.tools.mcp import MCPToolset, StreamableHttpServerInfo

url, key = sys.argv[1:]
toolset = MCPToolset(StreamableHttpServerInfo(url + "/mcp", token=Secret.from_token(key)), eager_connect=True)
tools = {tool.name: tool for tool in toolset}
pets = json.loads(tools["listPets"].invoke(limit=2, status=None, after=None))
try:
    missing = tools["getPet"].invoke(petId="999999")
except Exception as error:
    missing = error
print(f"{len(tools)} tools, {len(pets['structuredContent']['items'])} pets with nulls, refused: {missing}")
toolset.close()

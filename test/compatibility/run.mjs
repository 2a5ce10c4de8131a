import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { proxies } from './proxies.mjs';

/**
 * Tries the tools of docs/compatibility.md on the built program, and prints a line for each: what held, or that it is not
 * installed. Proxies are Debian's packages; others are installed in a temporary folder.
 */
const run = promisify(execFile);
const home = mkdtempSync(join(tmpdir(), 'petstore-compatibility-'));
const DATA_FILE = join(home, 'petstore.db');
const url = 'http://127.0.0.1:18200';
const server = spawn(process.execPath, ['dist/main.js'], {
  env: { ...process.env, PORT: '18200', DATA_FILE },
  stdio: 'ignore',
});
process.on('exit', () => server.kill());
for (let n = 0; n < 100; n++) {
  if (
    await fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  )
    break;
  await sleep(200);
}
const key = readFileSync(`${DATA_FILE}.key`, 'utf8').trim();

const print = (name, held, isGood) => {
  process.stdout.write(`${name.padEnd(24)} ${held}\n`);
  if (!isGood) process.exitCode = 1;
};
const attempt = async (name, work) =>
  work().then(
    (held) => print(name, held, true),
    (error) =>
      print(
        name,
        `FAILED: ${(error.stdout || error.stderr || error.message).trim().split('\n').at(-1)}`,
        false,
      ),
  );

for await (const line of proxies(url, key, home)) print(...line);

await attempt('newman', async () => {
  const collection = join(home, 'collection.json');
  writeFileSync(collection, await (await fetch(`${url}/postman.json`)).text());
  const args = ['run', collection, '--env-var', `key=${key}`, '--timeout-request', '20000'];
  const { stdout } = await run('test/clients/node_modules/.bin/newman', args);
  return `all green, ${/assertions │ +(\d+)/.exec(stdout)[1]} requests`;
});

const PYTHON = {
  fastmcp: `
import asyncio, sys
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
async def main(url, key):
    async with Client(StreamableHttpTransport(url + "/mcp", headers={"X-API-Key": key})) as client:
        tools = await client.list_tools()
        result = await client.call_tool("listPets", {"limit": 2, "status": None})
        print(len(tools), "tools,", len(result.structured_content["items"]), "pets with null for status")
asyncio.run(main(*sys.argv[1:]))
`,
  'langchain-mcp-adapters': `
import asyncio, sys
from langchain_mcp_adapters.client import MultiServerMCPClient
async def main(url, key):
    client = MultiServerMCPClient({"petstore": {"transport": "streamable_http", "url": url + "/mcp", "headers": {"X-API-Key": key}}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    answer = await tools["listPets"].ainvoke({"limit": 2, "after": None})
    print(len(tools), "tools, listPets answered with null for after:", "Rex" in str(answer))
asyncio.run(main(*sys.argv[1:]))
`,
};
for (const [name, program] of Object.entries(PYTHON)) {
  const folder = join(home, name);
  const python = join(folder, 'bin', 'python');
  const installed = await run('python3', ['-m', 'venv', folder])
    .then(() => run(python, ['-m', 'pip', 'install', '--quiet', name], { timeout: 240_000 }))
    .catch(() => undefined);
  if (!installed) print(name, 'could not be installed', true);
  else
    await attempt(name, async () =>
      (await run(python, ['-c', program, url, key], { timeout: 60_000 })).stdout.trim(),
    );
}
process.exit();

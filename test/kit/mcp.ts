import {
  Client as CurrentClient,
  StreamableHTTPClientTransport as CurrentTransport,
} from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Call, Reply, TestGateway } from './gateway.ts';

/** An agent's client of either generation. */
export interface Agent {
  /** The tools by name. */
  tools: Map<
    string,
    { description?: string; inputSchema: object; outputSchema?: object; annotations?: object }
  >;
  /** Calls a tool. @returns what it answers; an error as its text */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results whose shape is what they test
  call(name: string, args?: object): Promise<{ value?: any; error?: string }>;
  close(): Promise<void>;
}

const INFO = { name: 'test', version: '1.0.0' };

type Client = Pick<CurrentClient, 'listTools' | 'callTool' | 'close'>;

async function agentOf(client: Client): Promise<Agent> {
  const { tools } = await client.listTools();
  return {
    tools: new Map(tools.map((tool) => [tool.name, tool as never])),
    async call(name, args = {}) {
      const result = await client.callTool({ name, arguments: args as never });
      const [{ text }] = result.content as unknown as [{ text: string }];
      return result.isError ? { error: text } : { value: result.structuredContent };
    },
    close: () => client.close(),
  };
}

/** Connects with the client of revision 2026-07-28. */
export async function connectCurrent(gateway: TestGateway, key = gateway.key): Promise<Agent> {
  const client = new CurrentClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const headers = { Authorization: `Bearer ${key}` };
  await client.connect(new CurrentTransport(new URL(`${gateway.url}/mcp`), { requestInit: { headers } }));
  return agentOf(client);
}

/** Connects with the client of the revisions that begin with `initialize`. */
export async function connectEarlier(gateway: TestGateway, key = gateway.key): Promise<Agent> {
  const client = new EarlierClient(INFO);
  const headers = { Authorization: `Bearer ${key}` };
  const transport = new EarlierTransport(new URL(`${gateway.url}/mcp`), { requestInit: { headers } });
  await client.connect(transport as never);
  return agentOf(client as never);
}

export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Sends a request of revision 2026-07-28. */
export const rpc = (
  gateway: TestGateway,
  method: string,
  params: Record<string, unknown> = {},
  call: Call = {},
): Promise<Reply> =>
  gateway.call('/mcp', {
    ...call,
    method: 'POST',
    body: { jsonrpc: '2.0', id: 1, method, params: { _meta: META, ...params } },
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(params.name !== undefined && { 'mcp-name': String(params.name) }),
      ...(call.headers as Record<string, string>),
    },
  });

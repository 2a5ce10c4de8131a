import type { Call, Reply, TestGateway } from './gateway.ts';

/** An agent's client of either generation. */
export interface Agent {
  /** The tools by name. */
  tools: Map<
    string,
    { description?: string; inputSchema: object; outputSchema?: object; annotations?: object }
  >;
  /** Calls a tool. @returns what it answers; an error as its text */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into results whose shape is what they test
  call(name: string, args?: object): Promise<{ value?: any; error?: string }>;
  close(): Promise<void>;
}

interface Client {
  listTools(page: { cursor?: string }): Promise<{ tools: { name: string }[]; nextCursor?: string }>;
  callTool(call: { name: string; arguments: object }): Promise<{
    content: unknown;
    structuredContent?: unknown;
    isError?: boolean;
  }>;
  close(): Promise<void>;
}

async function agentOf(client: Client): Promise<Agent> {
  const tools: Agent['tools'] = new Map();
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    for (const tool of page.tools) tools.set(tool.name, tool as never);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return {
    tools,
    async call(name, args = {}) {
      const result = await client.callTool({ name, arguments: args });
      const [{ text }] = result.content as [{ text: string }];
      return result.isError ? { error: text } : { value: result.structuredContent };
    },
    close: () => client.close(),
  };
}

type Connect = (url: string, key: string) => Promise<Client>;

/** The official clients, which are installed apart from the gateway. */
const clients = (): Promise<Record<'current' | 'earlier', Connect>> =>
  import(new URL('../clients/mcp-clients.ts', import.meta.url).href);

/** Connects with the client of revision 2026-07-28. */
export const connectCurrent = async (gateway: TestGateway, key = gateway.key): Promise<Agent> =>
  agentOf(await (await clients()).current(gateway.url, key));

/** Connects with the client of the revisions that begin with `initialize`. */
export const connectEarlier = async (gateway: TestGateway, key = gateway.key): Promise<Agent> =>
  agentOf(await (await clients()).earlier(gateway.url, key));

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
      ...standardHeaders(method, params.name as string | undefined),
      ...(call.headers as Record<string, string>),
    },
  });

/** The headers that repeat what a message of revision 2026-07-28 says. */
export const standardHeaders = (method: string, name?: string): Record<string, string> => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name !== undefined && { 'mcp-name': name }),
});

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const INFO = { name: 'test', version: '1.0.0' };

const authorized = (key: string) => ({ requestInit: { headers: { Authorization: `Bearer ${key}` } } });

/** Connects the official client of revision 2026-07-28. */
export async function current(url: string, key: string): Promise<Client> {
  const client = new Client(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), authorized(key)));
  return client;
}

/** Connects the official client of the revisions that begin with `initialize`. */
export async function earlier(url: string, key: string): Promise<EarlierClient> {
  const client = new EarlierClient(INFO);
  await client.connect(new EarlierTransport(new URL(`${url}/mcp`), authorized(key)) as never);
  return client;
}

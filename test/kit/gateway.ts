import { Agent, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { api } from '../../src/api.ts';
import { newApiKey } from '../../src/access/api-keys.ts';
import { readConfig } from '../../src/config.ts';
import { isUnavailable } from '../../src/foundation/errors.ts';
import { Gateway, type GatewayOptions } from '../../src/gateway.ts';
import { createLog } from '../../src/observability/log.ts';
import { Metrics } from '../../src/observability/metrics.ts';
import { HttpServer, listen, type Timeouts } from '../../src/server.ts';
import type { ApiKey, PlanName } from '../../src/store/stored-api-keys.ts';
import type { Store } from '../../src/store/store.ts';
import type { Limits } from '../../src/store/limiter-algorithm.ts';

/** A clock that tests control. It begins far ahead, because MongoDB removes what has expired by a clock of its own. */
export class Clock {
  time = Date.parse('2126-11-21T12:00:00Z');
  /** How far the clock was set back while time passed. */
  #setBack = 0;
  readonly now = (): number => this.time;
  readonly monotonic = (): number => this.time + this.#setBack;

  advance(milliseconds: number): void {
    this.time += milliseconds;
  }

  setBack(milliseconds: number): void {
    this.time -= milliseconds;
    this.#setBack += milliseconds;
  }
}

/** A response as received. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body as text, so that no integer is rounded before the test sees it. */
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies whose shape is what they test
  json: any;
}

export interface Call {
  method?: string;
  key?: string | null;
  headers?: Record<string, string | string[]> | undefined;
  /** Text and bytes are sent unchanged, anything else as JSON. */
  body?: unknown;
}

/** A gateway on its own port, with a real HTTP server and a real store. */
export class TestGateway {
  readonly store: Store;
  readonly clock: Clock;
  readonly logs: string[];
  readonly url: string;
  /** A key with practically no limits, for tests that are not about limits. */
  readonly key: string;
  readonly #server: Server;
  /** A connection takes as long as a request. */
  readonly #agent = new Agent({ keepAlive: true });
  readonly #gateway: Gateway;

  private constructor(
    seen: Pick<TestGateway, 'store' | 'clock' | 'logs' | 'url' | 'key'>,
    server: Server,
    gateway: Gateway,
  ) {
    ({ store: this.store, clock: this.clock, logs: this.logs, url: this.url, key: this.key } = seen);
    this.#server = server;
    this.#gateway = gateway;
  }

  static async start(
    store: Store,
    environment: Record<string, string> = {},
    clock = new Clock(),
    more: Partial<GatewayOptions> = {},
    timeouts?: Timeouts,
  ): Promise<TestGateway> {
    const logs: string[] = [];
    const log = createLog('debug', { write: (line: string) => void logs.push(line) });
    const config = readConfig(environment);
    const gateway = new Gateway({ api, store, config, log, metrics: new Metrics(), clock, ...more });
    const server = new HttpServer(gateway, timeouts);
    const url = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}`;
    const { key } = await makeKey(store, clock, UNLIMITED);
    return new TestGateway({ store, clock, logs, url, key }, server, gateway);
  }

  /** A new key with its own budget. */
  async newKey(plan: PlanName, limits?: Limits, restrictions: Restrictions = {}): Promise<string> {
    return (await makeKey(this.store, this.clock, { plan, limits, ...restrictions })).key;
  }

  /** A new key with these restrictions and practically no limits. */
  async restrictedKey(restrictions: Restrictions): Promise<string> {
    return (await this.keyRecord(restrictions)).key;
  }

  /** The same, with its record. */
  keyRecord(restrictions: Restrictions): Promise<{ key: string; apiKey: ApiKey }> {
    return makeKey(this.store, this.clock, { ...UNLIMITED, ...restrictions });
  }

  /** Sends a request; `key: null` sends no key. */
  call(path: string, { method = 'GET', key = this.key, headers = {}, body }: Call = {}): Promise<Reply> {
    const isRaw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const payload = isRaw ? (body as string | Buffer | undefined) : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        this.url + path,
        {
          method,
          agent: this.#agent,
          headers: {
            ...(key !== null && { 'x-api-key': key }),
            ...(!isRaw && { 'content-type': 'application/json' }),
            ...(payload !== undefined && { 'content-length': String(Buffer.byteLength(payload)) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({ status: response.statusCode!, headers: response.headers, text, json: parsed(text) });
          });
        },
      );
      request.on('error', reject);
      request.end(payload);
    });
  }

  /** Sends a GraphQL operation as a JSON POST. */
  graphql(query: string, variables?: Record<string, unknown>, call: Call = {}): Promise<Reply> {
    return this.call('/graphql', { method: 'POST', body: { query, variables }, ...call });
  }

  /** A metric without labels, by its name after `petstore_`. */
  async metric(name: string): Promise<number> {
    const { text } = await this.call('/metrics');
    return Number(new RegExp(`^petstore_${name} (.*)$`, 'm').exec(text)?.[1]);
  }

  /** Stops the gateway as SIGTERM does. */
  endStreams(): void {
    this.#gateway.services.openStreams.stop();
  }

  /** Starts delivering webhooks, as the program does. */
  deliver(): void {
    for (const feature of this.#gateway.services.features) feature.begin?.();
  }

  /** Stops delivering webhooks as SIGTERM does. @param patience for attempts under way, in milliseconds */
  async endDeliveries(patience?: number): Promise<void> {
    for (const feature of this.#gateway.services.features) await feature.end?.(patience);
  }

  /** Stores what was counted in memory, as a stop does. */
  async flushUsage(): Promise<void> {
    await this.#gateway.close();
  }

  async close(): Promise<void> {
    this.endStreams();
    await this.endDeliveries();
    this.#agent.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    // The database may be away by now.
    await this.#gateway.close().catch(() => {});
  }
}

const UNLIMITED = { plan: 'enterprise', limits: { perMinute: 1_000_000, perDay: 1_000_000 } } as const;

type Restrictions = Pick<ApiKey, 'scopes' | 'expiresAt' | 'allow' | 'documents'>;

async function makeKey(
  store: Store,
  clock: Clock,
  settings: Restrictions & { plan: PlanName; limits?: Limits | undefined },
): Promise<{ key: string; apiKey: ApiKey }> {
  const made = newApiKey({ ...settings, name: 'test', now: clock.now() });
  // On a slow machine, a store with a short limit of time may need several attempts.
  for (const deadline = performance.now() + 30_000; ;)
    try {
      await store.createApiKey(made.apiKey);
      return made;
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadline) throw error;
    }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

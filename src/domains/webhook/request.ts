import { createHash, createHmac } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AttemptError, WebhookSecret } from '../../store/webhooks.ts';
import { literalOf, RefusedAddressError, type Targets } from './targets.ts';

const TIMEOUT = 15_000;
/** What is read of a response body, to use the connection again: bytes and milliseconds. */
const MAX_DRAINED = { bytes: 16_384, milliseconds: 1_000 };
/** How long an unused connection is kept, in milliseconds. Many servers close theirs after 5 s. */
const KEEP_ALIVE = 4_000;
/** Standard Webhooks recommends short ids; event ids of MongoDB can be long. */
const MAX_ID_LENGTH = 255;

/** What came of a request. */
export interface Outcome {
  status?: number;
  error?: AttemptError;
  /** From `Retry-After`, in milliseconds. */
  retryAfter?: number;
}

interface Request {
  url: URL;
  body: string;
  headers: Record<string, string | number>;
  now: number;
}

/** Sends events to receivers as Standard Webhooks 1.0.0 describes. */
export class Sender {
  readonly #targets: Targets;
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true, timeout: KEEP_ALIVE }),
    'https:': new HttpsAgent({ keepAlive: true, timeout: KEEP_ALIVE }),
  };

  readonly #timeout: number;

  /** @param timeout how long a receiver has to send the head of its response, in milliseconds */
  constructor(targets: Targets, timeout = TIMEOUT) {
    this.#targets = targets;
    this.#timeout = timeout;
  }

  /**
   * Sends an event once. A connection kept from an earlier request may turn out to be closed; then it is sent
   * again over a new one.
   *
   * @param now milliseconds since 1970
   */
  async send(
    address: string,
    event: { id: string; body: string },
    secrets: readonly WebhookSecret[],
    now: number,
  ): Promise<Outcome> {
    const headers = headersOf(event, secrets, now);
    const request = { url: new URL(address), body: event.body, headers, now };
    const first = await this.#request(request, true);
    return first === 'closed' ? ((await this.#request(request, false)) as Outcome) : first;
  }

  /** Closes the connections that are kept. */
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  /** @param reuse whether to use a connection that was kept */
  #request({ url, body, headers, now }: Request, reuse: boolean): Promise<Outcome | 'closed'> {
    const protocol = url.protocol as 'http:' | 'https:';
    const literal = literalOf(url);
    if (literal !== undefined && !this.#targets.permits(protocol, literal))
      return Promise.resolve({ error: 'refused_address' });
    return new Promise((resolve) => {
      const request = (protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        method: 'POST',
        agent: reuse ? this.#agents[protocol] : false,
        headers,
        lookup: this.#targets.lookupFor(protocol),
      });
      let isConnected = false;
      const timer = setTimeout(() => fail('timeout'), this.#timeout);
      const settle = (outcome: Outcome | 'closed') => {
        clearTimeout(timer);
        resolve(outcome);
      };
      const fail = (error: AttemptError) => {
        settle({ error });
        request.destroy();
      };
      request.on('socket', (socket) => {
        isConnected = !socket.connecting;
        if (socket.connecting)
          socket.once('connect', () => {
            isConnected = true;
          });
      });
      request.on('response', (response) => {
        settle(outcomeOf(response, now));
        drain(response);
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (request.reusedSocket && error.code === 'ECONNRESET') settle('closed');
        else fail(errorOf(error, isConnected && protocol === 'https:'));
      });
      request.end(body);
    });
  }
}

const outcomeOf = ({ statusCode = 0, headers }: IncomingMessage, now: number): Outcome => {
  const retryAfter = retryAfterOf(headers['retry-after'], now);
  return {
    status: statusCode,
    ...(statusCode >= 300 && statusCode < 400 && { error: 'redirect' as const }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
};

/** Retry-After in seconds or as a date (RFC 9110 section 10.2.3). */
function retryAfterOf(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return milliseconds > 0 ? milliseconds : undefined;
}

/** Reads a little of a body that nobody looks at, and closes the connection if there is more. */
function drain(response: IncomingMessage): void {
  let left = MAX_DRAINED.bytes;
  const timer = setTimeout(() => response.destroy(), MAX_DRAINED.milliseconds);
  response.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) response.destroy();
  });
  response.on('close', () => clearTimeout(timer));
  response.on('error', () => {});
}

/** @param inHandshake whether the connection existed and was to be secured */
function errorOf(error: NodeJS.ErrnoException, inHandshake: boolean): AttemptError {
  if (error instanceof RefusedAddressError) return 'refused_address';
  if (error.syscall === 'getaddrinfo') return 'dns';
  const isTls = /^(ERR_TLS|ERR_SSL|CERT_|EPROTO|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/.test(error.code ?? '');
  return isTls && inHandshake ? 'tls' : 'connect';
}

/** The headers of Standard Webhooks 1.0.0, with a signature by each secret. */
function headersOf(
  { id, body }: { id: string; body: string },
  secrets: readonly WebhookSecret[],
  now: number,
): Record<string, string | number> {
  const webhookId = id.length > MAX_ID_LENGTH ? createHash('sha256').update(id).digest('hex') : id;
  const timestamp = Math.floor(now / 1_000);
  const signatures = secrets
    .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
    .map(({ secret }) => {
      const key = Buffer.from(secret.slice(secret.indexOf('_') + 1), 'base64');
      return `v1,${createHmac('sha256', key).update(`${webhookId}.${timestamp}.${body}`).digest('base64')}`;
    });
  return {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'User-Agent': 'petstore-webhooks/1.0',
    'webhook-id': webhookId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

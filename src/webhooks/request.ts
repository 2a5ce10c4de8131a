import { createHash, createHmac } from 'node:crypto';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AttemptError, WebhookSecret } from '../store/webhooks.ts';
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

/** Sends events to receivers as Standard Webhooks 1.0.0 describes. */
export class Sender {
  readonly #targets: Targets;
  readonly #timeout: number;
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true, timeout: KEEP_ALIVE }),
    'https:': new HttpsAgent({ keepAlive: true, timeout: KEEP_ALIVE }),
  };

  /** @param timeout how long a receiver has to send the head of its response, in milliseconds */
  constructor(targets: Targets, timeout = TIMEOUT) {
    this.#targets = targets;
    this.#timeout = timeout;
  }

  /**
   * Sends an event once. A connection kept from an earlier request may turn out to be closed; then it is sent
   * again over a new one, in what is left of the time.
   *
   * @param now milliseconds since 1970
   */
  send(
    address: string,
    { id, body }: { id: string; body: string },
    secrets: readonly WebhookSecret[],
    now: number,
  ): Promise<Outcome> {
    const url = new URL(address);
    const protocol = url.protocol as 'http:' | 'https:';
    const literal = literalOf(url);
    if (literal !== undefined && !this.#targets.permits(protocol, literal))
      return Promise.resolve({ error: 'refused_address' });
    const headers = headersOf({ id, body }, secrets, now);
    const lookup = this.#targets.lookupFor(protocol);
    return new Promise((resolve) => {
      let request: ClientRequest;
      let isSettled = false;
      const settle = (outcome: Outcome) => {
        isSettled = true;
        clearTimeout(timer);
        resolve(outcome);
      };
      const fail = (error: AttemptError) => {
        settle({ error });
        request.destroy();
      };
      const timer = setTimeout(() => fail('timeout'), this.#timeout);
      const begin = (agent: HttpAgent | false) => {
        request = (protocol === 'https:' ? httpsRequest : httpRequest)(url, {
          ...{ method: 'POST', agent, headers, lookup },
        });
        let isInHandshake = false;
        request.on('socket', (socket) => {
          if (protocol === 'http:' || !socket.connecting) return;
          socket.once('connect', () => {
            isInHandshake = true;
          });
          socket.once('secureConnect', () => {
            isInHandshake = false;
          });
        });
        request.on('response', (response) => {
          settle(outcomeOf(response, now));
          drain(response);
        });
        request.on('upgrade', (response, socket) => {
          settle(outcomeOf(response, now));
          socket.destroy();
        });
        request.on('error', (error: NodeJS.ErrnoException) => {
          if (isSettled) return;
          if (request.reusedSocket && error.code === 'ECONNRESET') begin(false);
          else fail(errorOf(error, isInHandshake));
        });
        request.end(body);
      };
      begin(this.#agents[protocol]);
    });
  }

  /** Closes the connections that are kept. */
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
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

/** @param isInHandshake whether the connection existed and was being secured */
function errorOf(error: NodeJS.ErrnoException, isInHandshake: boolean): AttemptError {
  if (error instanceof RefusedAddressError) return 'refused_address';
  if (/^(?:getaddrinfo|query)/.test(error.syscall ?? '')) return 'dns';
  return isInHandshake ? 'tls' : 'connect';
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

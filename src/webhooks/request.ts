import { createHash } from 'node:crypto';
import { Webhook as Signer } from 'standardwebhooks';
import type { Agent, Dispatcher } from 'undici';
import { AppError } from '../foundation/errors.ts';
import type { AttemptError, WebhookSecret } from './stored-webhooks.ts';
import { literalOf, RefusedAddressError, type Targets } from './targets.ts';

const TIMEOUT = 15_000;
/** The maximum number of interim responses from a receiver, since each is parsed. */
const MAX_INTERIM_RESPONSES = 5;
const MAX_HEAD_BYTES = 16_384;
/** How long an idle connection is kept, in milliseconds. Many servers close theirs after 5 s. */
const KEEP_ALIVE = 4_000;
/** The time limit for a body, which is discarded, in milliseconds. */
const BODY_TIMEOUT = 1_000;
/** The maximum length of `webhook-id`. Standard Webhooks recommends short ids, but MongoDB's event ids can be long. */
const MAX_ID_LENGTH = 255;

/** The outcome of an attempt. */
export interface AttemptResult {
  status?: number;
  error?: AttemptError;
  /** The delay from `Retry-After`, in milliseconds. */
  retryAfter?: number;
}

/** Sends events to receivers by Standard Webhooks 1.0.0. */
export class WebhookClient {
  readonly #targets: Targets;
  readonly #timeout: number;
  /** An agent per protocol, because an address may be permitted over https only. */
  readonly #agents = new Map<string, Agent>();

  /** @param timeout the time limit for the head of a response, in milliseconds */
  constructor(targets: Targets, timeout = TIMEOUT) {
    this.#targets = targets;
    this.#timeout = timeout;
  }

  async #agentFor(protocol: string): Promise<Agent> {
    // A third of the server's source, which most processes don't need.
    const { Agent } = await import('undici');
    let agent = this.#agents.get(protocol);
    if (!agent) {
      agent = new Agent({
        connect: { lookup: this.#targets.lookupFor(protocol), timeout: this.#timeout },
        keepAliveTimeout: KEEP_ALIVE,
        keepAliveMaxTimeout: KEEP_ALIVE,
        maxHeaderSize: MAX_HEAD_BYTES,
        headersTimeout: 0,
        bodyTimeout: BODY_TIMEOUT,
      });
      this.#agents.set(protocol, agent);
    }
    return agent;
  }

  /**
   * Sends an event once. Only the head of the response is read.
   *
   * @param now milliseconds since 1970
   */
  async send(
    address: string,
    { id, body }: { id: string; body: string },
    secrets: readonly WebhookSecret[],
    now: number,
  ): Promise<AttemptResult> {
    const url = new URL(address);
    const literal = literalOf(url);
    if (literal !== undefined && !this.#targets.permits(url.protocol, literal))
      return { error: 'refused_address' };
    const agent = await this.#agentFor(url.protocol);
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), this.#timeout);
    let interim = 0;
    try {
      const response = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'POST',
        headers: headersOf({ id, body }, secrets, now),
        body,
        signal: ending.signal,
        onInfo: () => {
          if (++interim > MAX_INTERIM_RESPONSES) ending.abort();
        },
      });
      // Closes the connection if there is a body.
      void response.body.dump({ limit: 0 }).catch(() => {});
      return resultOf(response, now);
    } catch (error) {
      if (error instanceof AppError) throw error;
      const isLate = ending.signal.aborted && interim <= MAX_INTERIM_RESPONSES;
      return { error: isLate ? 'timeout' : errorOf(error as NodeJS.ErrnoException) };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes all connections. Running attempts throw UNAVAILABLE. */
  close(): void {
    for (const agent of this.#agents.values())
      void agent.destroy(new AppError('UNAVAILABLE', 'The server is stopping.'));
    this.#agents.clear();
  }
}

const resultOf = ({ statusCode, headers }: Dispatcher.ResponseData, now: number): AttemptResult => {
  const retryAfter = retryAfterOf(headers['retry-after'], now);
  return {
    status: statusCode,
    ...(statusCode >= 300 && statusCode < 400 && { error: 'redirect' as const }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
};

/** Parses Retry-After, in seconds or as a date (RFC 9110 section 10.2.3). @returns milliseconds */
function retryAfterOf(text: string | string[] | undefined, now: number): number | undefined {
  if (typeof text !== 'string') return undefined;
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return milliseconds > 0 ? milliseconds : undefined;
}

/** The codes of OpenSSL's errors, and of Node's (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const TLS_ERROR =
  /^(?:EPROTO$|ERR_(?:TLS|SSL|OSSL)_|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_)/;

function errorOf(error: NodeJS.ErrnoException): AttemptError {
  if (error instanceof RefusedAddressError) return 'refused_address';
  if (/^(?:getaddrinfo|query)/.test(error.syscall ?? '')) return 'dns';
  return TLS_ERROR.test(error.code ?? '') ? 'tls' : 'connect';
}

/** The headers of Standard Webhooks 1.0.0, with a signature for each secret. */
function headersOf(
  { id, body }: { id: string; body: string },
  secrets: readonly WebhookSecret[],
  now: number,
): Record<string, string> {
  const webhookId = id.length > MAX_ID_LENGTH ? createHash('sha256').update(id).digest('hex') : id;
  const signatures = secrets
    .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
    .map(({ secret }) => new Signer(secret).sign(webhookId, new Date(now), body));
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'petstore-webhooks/1.0',
    'webhook-id': webhookId,
    'webhook-timestamp': String(Math.floor(now / 1_000)),
    'webhook-signature': signatures.join(' '),
  };
}

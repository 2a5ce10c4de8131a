import { AppError, isRefusal, unavailable } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/turns.ts';
import type { Principal } from './api-keys.ts';
import { PLANS } from './plans.ts';
import type { Session } from './session.ts';

/** The interval between checks of keys, in milliseconds. Revocations and bans must take effect within 5 seconds. */
const CHECK_INTERVAL = 500;
/** Checking for a ban reads the store, so it happens less often. */
const CHECKS_PER_BAN_CHECK = 4;

/** Reasons that clients don't see. */
export const CLIENT_DISCONNECTED = new Error('The client has disconnected.');
export const SERVER_STOPPING = new Error('The server is stopping.');

/** The reason a stream ended, for the log. */
export function endReason(reason: unknown): string {
  if (reason === CLIENT_DISCONNECTED) return 'client gone';
  if (reason === SERVER_STOPPING) return 'stopping';
  return reason instanceof AppError ? reason.code : 'INTERNAL';
}

/** True if the reason is the server's fault, to be logged. */
export const isFault = (reason: unknown): boolean =>
  reason !== CLIENT_DISCONNECTED && reason !== SERVER_STOPPING && !isRefusal(reason);

/** A long-lived response: an event stream, a subscription, a long poll or an export. */
export interface OpenStream {
  readonly session: Session;
  /**
   * Aborted with the error that ends it: UNAUTHENTICATED after a revocation, FORBIDDEN, API_KEY_BANNED,
   * SERVER_STOPPING.
   */
  readonly ending: AbortController;
  /** Must be called once the stream has ended. */
  close(): void;
}

/**
 * The open streams of this process, of all kinds. Limits their number by the plan, and ends them when their key is
 * revoked or banned and when the server stops.
 */
export class OpenStreams {
  readonly #principalOf: (key: string) => MaybePromise<Principal | null>;
  /** Streams by the account of their key. */
  readonly #open = new Map<string, Set<OpenStream>>();
  #timer: NodeJS.Timeout | undefined;
  #checks = 0;
  /** Accounts whose check is in progress. */
  readonly #checking = new Set<string>();
  #stopped = false;

  /** @param principalOf returns null if the key is no longer valid */
  constructor(principalOf: (key: string) => MaybePromise<Principal | null>) {
    this.#principalOf = principalOf;
  }

  /**
   * Registers a stream, and then charges for opening it: one that is refused costs nothing.
   *
   * @throws RATE_LIMITED if the plan allows no more open streams, UNAVAILABLE if the server is stopping, and like `charge`
   */
  async open(session: Session, charge: () => MaybePromise<void>): Promise<OpenStream> {
    if (this.#stopped) throw unavailable(SERVER_STOPPING);
    const { account, plan } = session.principal;
    const max = PLANS[plan].streams;
    const streams = this.#open.get(account) ?? new Set();
    if (streams.size >= max) {
      // Lets a ban take precedence, and gets the windows for the headers.
      await session.charge(0);
      throw new AppError('RATE_LIMITED', `The plan allows ${max} concurrent streams. Close one first.`, {
        retryAfter: 1,
      });
    }
    const close = () => {
      if (!streams.delete(stream) || streams.size > 0) return;
      this.#open.delete(account);
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
    const stream: OpenStream = { session, ending: new AbortController(), close };
    this.#open.set(account, streams.add(stream));
    this.#timer ??= setInterval(() => this.#checkKeys(), CHECK_INTERVAL).unref();
    try {
      await charge();
      return stream;
    } catch (error) {
      close();
      throw error;
    }
  }

  /** Ends all streams and refuses new ones. */
  stop(): void {
    this.#stopped = true;
    for (const streams of this.#open.values())
      for (const { ending } of streams) ending.abort(SERVER_STOPPING);
  }

  /** Checks the keys of all streams, except where the last check is still running: a slow check delays no other. */
  #checkKeys(): void {
    const looksForBans = this.#checks++ % CHECKS_PER_BAN_CHECK === 0;
    for (const [id, streams] of this.#open) {
      if (this.#checking.has(id)) continue;
      this.#checking.add(id);
      void this.#check([...streams], looksForBans).finally(() => this.#checking.delete(id));
    }
  }

  /** Ends streams whose keys have been revoked, banned or changed so that they no longer permit them. */
  async #check(streams: readonly OpenStream[], looksForBans: boolean): Promise<void> {
    try {
      for (const { session, ending } of streams) {
        const principal = await this.#principalOf(session.sender!.apiKey!);
        // A stream whose key cannot be checked stays open.
        await session.renew(principal).catch((error: unknown) => isRefusal(error) && ending.abort(error));
      }
      if (looksForBans)
        for (const id of new Set(streams.map(({ session }) => session.principal.id)))
          await endIfBanned(streams.filter(({ session }) => session.principal.id === id));
    } catch {
      // A failed check ends no stream.
    }
  }
}

/** Ends the streams of a key if it is banned. @throws UNAVAILABLE if the store cannot be read */
async function endIfBanned(streams: readonly OpenStream[]): Promise<void> {
  try {
    await streams[0]!.session.charge(0);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'API_KEY_BANNED') throw error;
    for (const { ending } of streams) ending.abort(error);
  }
}

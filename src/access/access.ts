import { AppError } from '../errors.ts';
import { andThen } from '../maybe-promise.ts';
import type { MaybePromise, Store } from '../store/store.ts';
import { AddressGuard } from './address-guard.ts';
import { Authenticator } from './api-keys.ts';
import { BurstGuard } from './burst-guard.ts';
import { FreeGuard } from './free-guard.ts';
import type { WindowView } from './limiter.ts';
import { Session } from './session.ts';

/** Who may do what: turns credentials into sessions, and slows down those who have none. */
export class Access {
  readonly #now: () => number;
  readonly #authenticator: Authenticator;
  readonly #addressGuard: AddressGuard;
  readonly #burstGuard = new BurstGuard();
  readonly #freeGuard: FreeGuard;

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
    this.#authenticator = new Authenticator(now);
    this.#addressGuard = new AddressGuard(now);
    this.#freeGuard = new FreeGuard(now);
  }

  /**
   * The session of whoever holds a key.
   *
   * @param key as it was sent; undefined if none was
   * @returns null if nobody does
   * @throws UNAVAILABLE when the store can't tell
   */
  sessionOf(key: string | undefined, store: Store): MaybePromise<Session | null> {
    if (key === undefined) return null;
    return andThen(
      this.#authenticator.principalOf(store, key),
      (principal) =>
        principal &&
        new Session({
          principal,
          store,
          burstGuard: this.#burstGuard,
          freeGuard: this.#freeGuard,
          now: this.#now,
        }),
    );
  }

  /** Counts a request without a valid key against its address. @returns what it is refused with */
  refuseStranger(address: string): AppError {
    if (this.#addressGuard.admit(address)) {
      return new AppError(
        'UNAUTHENTICATED',
        'A valid API key is needed: X-API-Key: <key> or Authorization: Bearer <key>.',
      );
    }
    const { resetAt } = this.#addressGuard.view(address);
    const retryAfter = Math.max(1, Math.ceil((resetAt - this.#now()) / 1000));
    return new AppError(
      'RATE_LIMITED',
      `Too many requests without a valid API key. Retry in ${retryAfter} s.`,
      { retryAfter },
    );
  }

  /** What an address has left without a valid key. */
  windowOf(address: string): WindowView {
    return this.#addressGuard.view(address);
  }
}

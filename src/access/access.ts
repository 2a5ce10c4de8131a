import { customerNetwork } from '../foundation/address.ts';
import type { Clock } from '../foundation/clock.ts';
import { AppError } from '../foundation/errors.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { Store } from '../store/store.ts';
import { toRetryAfter } from '../store/usage.ts';
import { AddressGuard } from './address-guard.ts';
import { Authenticator } from './api-keys.ts';
import { Limiter, type WindowView } from './limiter.ts';
import { type Counters, Session } from './session.ts';
import { SlidingWindow } from './sliding-window.ts';

/** Access control: turns credentials into sessions and throttles callers without any. */
export class Access {
  readonly #now: () => number;
  readonly #authenticator: Authenticator;
  readonly #addressGuard: AddressGuard;
  readonly #counters: Counters;

  constructor(clock: Clock) {
    const { now } = clock;
    this.#now = now;
    this.#authenticator = new Authenticator(clock);
    this.#addressGuard = new AddressGuard(clock);
    this.#counters = { limiter: new Limiter(), window: new SlidingWindow(clock) };
  }

  /**
   * Opens a session for the holder of a key.
   *
   * @param key as sent; undefined if the request had none
   * @param address the caller's; undefined for what no caller sent
   * @returns null if the key is missing or not valid
   * @throws UNAVAILABLE if the store cannot be read
   */
  authenticate(key: string | undefined, store: Store, address?: string): MaybePromise<Session | null> {
    if (key === undefined) return null;
    return andThen(
      this.#authenticator.authenticate(store, key),
      (principal) =>
        principal &&
        new Session({
          principal,
          network: address === undefined ? undefined : customerNetwork(address),
          store,
          counters: this.#counters,
          now: this.#now,
        }),
    );
  }

  /** Counts a request without a valid key against its address. @returns the error to respond with */
  unauthenticatedError(address: string): AppError {
    if (this.#addressGuard.admit(address)) {
      return new AppError(
        'UNAUTHENTICATED',
        'A valid API key is required: X-API-Key: <key> or Authorization: Bearer <key>.',
      );
    }
    const { resetAt } = this.#addressGuard.view(address);
    const retryAfter = toRetryAfter(resetAt - this.#now());
    return new AppError(
      'RATE_LIMITED',
      `Too many requests without a valid API key. Retry in ${retryAfter} s.`,
      { retryAfter },
    );
  }

  /** The remaining allowance of an address without a valid key. */
  addressWindow(address: string): WindowView {
    return this.#addressGuard.view(address);
  }
}

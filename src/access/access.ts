import type { Clock } from '../foundation/clock.ts';
import { AppError } from '../foundation/errors.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { Store } from '../store/store.ts';
import { toRetryAfter } from '../store/usage.ts';
import { AddressGuard } from './address-guard.ts';
import { Authenticator, type Principal } from './api-keys.ts';
import { Limiter, type WindowView } from './limiter.ts';
import { foreignAddress } from './networks.ts';
import { type Counters, Session } from './session.ts';
import { SlidingWindow } from './sliding-window.ts';
import type { UsageHistory } from './usage-history.ts';

/** Access control: turns credentials into sessions and throttles callers without any. */
export class Access {
  readonly #now: () => number;
  readonly #authenticator: Authenticator;
  readonly #addressGuard: AddressGuard;
  readonly #counters: Counters;

  /** @param history of what keys do */
  constructor(clock: Clock, history: UsageHistory) {
    const { now } = clock;
    this.#now = now;
    this.#authenticator = new Authenticator(clock);
    this.#addressGuard = new AddressGuard(clock);
    this.#counters = { limiter: new Limiter(), window: new SlidingWindow(clock), history };
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
      this.principalOf(key, store),
      (principal) =>
        principal && new Session({ principal, address, store, counters: this.#counters, now: this.#now }),
    );
  }

  /**
   * The caller a key belongs to, as a few seconds ago at most.
   *
   * @returns null if the key is not valid
   * @throws UNAVAILABLE if the store cannot be read
   */
  principalOf(key: string, store: Store): MaybePromise<Principal | null> {
    return this.#authenticator.authenticate(store, key);
  }

  /** Opens a session for what the holder of a key left behind; null if the key is not valid any more. */
  sessionOf(apiKeyId: string, store: Store): MaybePromise<Session | null> {
    return andThen(
      this.#authenticator.byId(store, apiKeyId),
      (principal) => principal && new Session({ principal, store, counters: this.#counters, now: this.#now }),
    );
  }

  /** Counts a request without a valid key against its address. @returns the error to respond with */
  unauthenticatedError(address: string): AppError {
    return this.#refuse(
      address,
      new AppError(
        'UNAUTHENTICATED',
        'A valid API key is required: X-API-Key: <key> or Authorization: Bearer <key>.',
      ),
    );
  }

  /**
   * Counts a request against its address whose key may not be used from there: a thief uses up nothing of the
   * key's budget. @returns the error to respond with
   */
  foreignAddressError(address: string): AppError {
    return this.#refuse(address, foreignAddress());
  }

  #refuse(address: string, error: AppError): AppError {
    if (this.#addressGuard.admit(address)) return error;
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

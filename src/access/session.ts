import { AppError } from '../foundation/errors.ts';
import { andThen, attempt, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { PlanName, Store } from '../store/store.ts';
import type { Principal } from './api-keys.ts';
import type { BurstGuard, BurstRefusal } from './burst-guard.ts';
import { FREE_PER_SECOND, type FreeGuard } from './free-guard.ts';
import type { Decision, Limiter, WindowView } from './limiter.ts';

/** Units charged for a request that fails before its cost is known. */
export const FAILURE_COST = 1;

/** The caller's budget, as shown to clients. */
export interface RateLimitView {
  /** Units charged for the operation. */
  cost: number;
  plan: PlanName;
  minute: WindowView;
  day: WindowView;
}

/** The counters that all sessions of a process share. */
export interface Counters {
  limiter: Limiter;
  burstGuard: BurstGuard;
  /** Limits requests that are always free. */
  freeGuard: FreeGuard;
  /** Limits requests that may turn out to be free, once the budget is exhausted. */
  exhaustedGuard: FreeGuard;
}

export interface SessionOptions {
  principal: Principal;
  /** Charged by the session, and read and written by its requests. */
  store: Store;
  counters: Counters;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** What is known about a request's cost before its body is read. */
export type ExpectedCost = 'charged' | 'perhaps free' | 'free';

/**
 * What the holder of a key may do in one request or stream. All charges go through it. It knows nothing about
 * the transport.
 */
export class Session {
  readonly principal: Principal;
  readonly store: Store;
  readonly now: () => number;
  readonly #counters: Counters;
  /** Units already paid towards the next charge. */
  #prepaid = 0;
  /** The limiter's latest decision; undefined until the first charge. */
  decision: Decision | undefined;
  /** Units charged so far. */
  units = 0;

  constructor({ principal, store, counters, now }: SessionOptions) {
    this.principal = principal;
    this.store = store;
    this.now = now;
    this.#counters = counters;
  }

  /**
   * Refuses a request before its body is read if the outcome is already known. A cached ban costs nothing
   * more. An exhausted budget is charged at the store, so that the refusal can count as a strike. If the
   * store has budget left after all, the request continues with what it has paid.
   *
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  begin(expected: ExpectedCost): MaybePromise<void> {
    const { limiter, exhaustedGuard } = this.#counters;
    const known = limiter.cachedDecision(this.principal, this.now());
    if (known === undefined) return;
    if (known.outcome === 'banned') return this.#enforce(0, known);
    if (expected === 'free' || (expected === 'perhaps free' && exhaustedGuard.admit(this.principal.id)))
      return;
    return andThen(this.charge(FAILURE_COST), () => {
      this.#prepaid = FAILURE_COST;
    });
  }

  /**
   * Charges a request about to run. The burst guard goes first, so that its refusals use up nothing of the
   * plan.
   *
   * @param units the cost of the request
   * @param mutations number of writing fields; the burst guard passes all of them or none
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admit(units: number, mutations: number): MaybePromise<void> {
    return andThen(this.#counters.burstGuard.check(this.principal, mutations), (refusal) => {
      if (!refusal) return this.charge(units);
      // Charges nothing: a ban takes precedence over any other limit, and the response shows what is left.
      return andThen(this.charge(0), () => {
        throw this.#refuseForOneSecond(refusal);
      });
    });
  }

  /**
   * Admits a free request, subject to the limit on free requests.
   *
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admitFree(): MaybePromise<void> {
    return andThen(this.charge(0), () => {
      if (this.#counters.freeGuard.admit(this.principal.id)) return;
      const message = `At most ${FREE_PER_SECOND} free requests per second are allowed. Retry in 1 s.`;
      throw this.#refuseForOneSecond({ message, limit: FREE_PER_SECOND, remaining: 0 });
    });
  }

  /**
   * Charges all of the units or none.
   *
   * @param units 0 only reads
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  charge(units: number): MaybePromise<void> {
    const due = Math.max(0, units - this.#prepaid);
    this.#prepaid = 0;
    const decision = attempt(
      () => this.#counters.limiter.charge(this.store, this.principal, due, this.now()),
      (error) => {
        this.decision = this.#uncountedDecision();
        throw error;
      },
    );
    return andThen(decision, (known) => this.#enforce(due, known));
  }

  /** Whether the last charge passed. If not, the response is the limiter's refusal. */
  get isAdmitted(): boolean {
    return this.decision?.outcome === 'passed';
  }

  /** The budget after the last charge. Costs no read. */
  budget(cost: number): RateLimitView {
    const { minute, day } = this.decision!;
    return { cost, plan: this.principal.plan, minute, day };
  }

  #enforce(units: number, decision: Decision): void {
    this.decision = decision;
    if (decision.outcome === 'passed') {
      this.units += units;
      return;
    }
    const retryAfter = decision.retryAfter!;
    if (decision.outcome === 'banned') {
      throw new AppError(
        'API_KEY_BANNED',
        `The API key is banned for too many retries. Retry in ${retryAfter} s.`,
        { retryAfter },
      );
    }
    const { minute, day, tightest } = decision;
    const window = tightest === day ? 'day' : 'minute';
    const advice =
      units > Math.min(minute.limit, day.limit)
        ? 'It can never fit; request less at once.'
        : `Retry in ${retryAfter} s.`;
    throw new AppError(
      'RATE_LIMITED',
      `The plan allows ${tightest.limit} requests per ${window}; ${tightest.remaining} are left and this one costs ${units}. ${advice}`,
      { retryAfter },
    );
  }

  /** Response headers show the window that refused, even if it is not one of the plan's. */
  #refuseForOneSecond({ message, ...window }: BurstRefusal): AppError {
    const tightest = { ...window, resetAt: this.now() + 1_000 };
    this.decision = { ...this.decision!, outcome: 'refused', tightest };
    return new AppError('RATE_LIMITED', message, { retryAfter: 1 });
  }

  /** A request that cannot be counted does not pass, and the headers say so. */
  #uncountedDecision(): Decision {
    const { perMinute, perDay } = this.principal.limits;
    const minute = { limit: perMinute, remaining: 0, resetAt: this.now() + 1_000 };
    return { outcome: 'refused', minute, day: { ...minute, limit: perDay }, tightest: minute };
  }
}

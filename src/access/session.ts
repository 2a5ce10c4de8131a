import { AppError } from '../errors.ts';
import { andThen, attempt, type MaybePromise } from '../maybe-promise.ts';
import type { PlanName, Store } from '../store/store.ts';
import type { Principal } from './api-keys.ts';
import type { BurstGuard, BurstRefusal } from './burst-guard.ts';
import { FREE_PER_SECOND, type FreeGuard } from './free-guard.ts';
import type { Decision, Limiter, WindowView } from './limiter.ts';

/** Units for whatever fails before it has a cost. */
export const FAILURE_COST = 1;

/** The caller's budget, as clients are shown it. */
export interface RateLimitView {
  /** Units that the operation was charged. */
  cost: number;
  plan: PlanName;
  minute: WindowView;
  day: WindowView;
}

/** What all sessions of a process count with. */
export interface Counters {
  limiter: Limiter;
  burstGuard: BurstGuard;
  /** Of requests that are free by themselves. */
  freeGuard: FreeGuard;
  /** Of requests that may turn out free, where nothing is left to pay with. */
  exhaustedGuard: FreeGuard;
}

export interface SessionOptions {
  principal: Principal;
  /** What the session charges, and what its requests read and write. */
  store: Store;
  counters: Counters;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** What a request costs, as far as that is known before it is read. */
export type ExpectedCost = 'charged' | 'perhaps free' | 'free';

/**
 * What the holder of a key may do in one request or stream: the budget is drawn on through it. It knows nothing of the
 * transport.
 */
export class Session {
  readonly principal: Principal;
  readonly store: Store;
  readonly now: () => number;
  readonly #counters: Counters;
  /** Units of the next charge that are paid already. */
  #prepaid = 0;
  /** The last word of the limiter; undefined as long as nothing was asked of it. */
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
   * Refuses what is known to be refused before anything of it is read. A ban that is remembered costs nothing more. Where
   * nothing is left, the refusal is the store's, so that it counts as a strike where it is one; should the store have
   * something left after all, the request goes on with what it has paid.
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
   * Admits what is about to run. The burst guard comes first, so that what it refuses uses up nothing of the plan.
   *
   * @param units its cost
   * @param mutations how many of its fields write: all of them pass the burst guard, or none does
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admit(units: number, mutations: number): MaybePromise<void> {
    return andThen(this.#counters.burstGuard.refusalOf(this.principal, mutations), (refusal) => {
      if (!refusal) return this.charge(units);
      // Asked for nothing: a ban comes before any other limit, and the answer shows what is left.
      return andThen(this.charge(0), () => {
        throw this.#refuseForASecond(refusal);
      });
    });
  }

  /**
   * Admits what is free, and therefore limited in number.
   *
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admitFree(): MaybePromise<void> {
    return andThen(this.charge(0), () => {
      if (this.#counters.freeGuard.admit(this.principal.id)) return;
      const message = `At most ${FREE_PER_SECOND} free requests a second are allowed. Retry in 1 s.`;
      throw this.#refuseForASecond({ message, limit: FREE_PER_SECOND, remaining: 0 });
    });
  }

  /**
   * Charges units, all of them or none.
   *
   * @param units 0 only asks
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  charge(units: number): MaybePromise<void> {
    const due = Math.max(0, units - this.#prepaid);
    this.#prepaid = 0;
    const decision = attempt(
      () => this.#counters.limiter.charge(this.store, this.principal, due, this.now()),
      (error) => {
        this.decision = this.#uncounted();
        throw error;
      },
    );
    return andThen(decision, (known) => this.#enforce(due, known));
  }

  /** Whether the limiter let it through; else the answer is the limiter's. */
  get isAdmitted(): boolean {
    return this.decision?.outcome === 'passed';
  }

  /** As the last charge left it, which costs no read. */
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
        ? 'That can never pass; ask for less at once.'
        : `Retry in ${retryAfter} s.`;
    throw new AppError(
      'RATE_LIMITED',
      `The plan allows ${tightest.limit} requests a ${window}; ${tightest.remaining} are left and this one costs ${units}. ${advice}`,
      { retryAfter },
    );
  }

  /** The numbers of an answer are those of the window that refuses, be it none of the plan's. */
  #refuseForASecond({ message, ...window }: BurstRefusal): AppError {
    const tightest = { ...window, resetAt: this.now() + 1_000 };
    this.decision = { ...this.decision!, outcome: 'refused', tightest };
    return new AppError('RATE_LIMITED', message, { retryAfter: 1 });
  }

  /** Nothing passes that can't be counted; the numbers say so. */
  #uncounted(): Decision {
    const { perMinute, perDay } = this.principal.limits;
    const minute = { limit: perMinute, remaining: 0, resetAt: this.now() + 1_000 };
    return { outcome: 'refused', minute, day: { ...minute, limit: perDay }, tightest: minute };
  }
}

import { customerNetwork } from '../foundation/address.ts';
import { AppError } from '../foundation/errors.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { PlanName, Store, UsageTransport } from '../store/store.ts';
import { strikesUntilBan } from '../store/usage.ts';
import type { Principal } from './api-keys.ts';
import type { Decision, Limiter, WindowView } from './limiter.ts';
import { foreignAddress } from './networks.ts';
import { PLANS } from './plans.ts';
import type { Limit, SlidingWindow } from './sliding-window.ts';
import { OTHER, type UsageHistory } from './usage-history.ts';

/** Units charged for a request that fails before its cost is known. */
export const FAILURE_COST = 1;

/** The caller's budget, as shown to clients. */
export interface RateLimitView {
  /** Units charged for the operation. */
  cost: number;
  plan: PlanName;
  minute: WindowView;
  day: WindowView;
  /** How many more refusals while Retry-After runs ban the key. */
  refusalsUntilBan: number;
}

/** What charges are for, by which they are counted. */
export interface UsageSubject {
  transport: UsageTransport;
  /**
   * The root fields with their units. The request itself counts for the first, and what is charged beyond
   * their units too.
   */
  operations: readonly { readonly name: string; readonly units: number }[];
}

/** The counters that all sessions of a process share. */
export interface Counters {
  history: UsageHistory;
  limiter: Limiter;
  /** Limits what no plan does: bursts of mutations, and what is free. */
  window: SlidingWindow;
}

const NO_SUBJECT: UsageSubject = { transport: 'rest', operations: [] };

export interface SessionOptions {
  principal: Principal;
  /** Where the caller is; undefined for what no caller sent. */
  address?: string | undefined;
  /** Charged by the session, and read and written by its requests. */
  store: Store;
  counters: Counters;
  /** Milliseconds since 1970. */
  now: () => number;
}

/**
 * What is known about a request's cost before its body is read: whether it is certainly charged, may turn out
 * to be free, or is free by a limit of its own (`Session.admitFree`).
 */
export type ExpectedCost = 'charged' | 'perhaps free' | 'free';

/** Requests per second and key that are free by their path, or because nothing is left to pay them with. */
const FREE_REQUESTS = 10;
/** Bytes read for a free request that count as one. */
const FREE_BYTES = 1_000;
/**
 * Free work per second: ten of the largest free requests (`ALLOWANCES`), or as many small ones. An address may
 * have several keys.
 */
const FREE_WORK = { key: 120, address: 240 };

/**
 * What the holder of a key may do in one request or stream. All charges go through it. It knows nothing about
 * the transport.
 */
export class Session {
  readonly store: Store;
  readonly now: () => number;
  /** What keys did so far. */
  readonly history: UsageHistory;
  readonly #counters: Counters;
  readonly #address: string | undefined;
  /** The key, as it was when it was last checked. */
  principal: Principal;
  /** What an open stream needs its key to permit. */
  #requirements: ((principal: Principal) => MaybePromise<void>)[] = [];
  /** What the next charges are for, or how to find out, which few of them need. */
  subject: UsageSubject | (() => UsageSubject) = NO_SUBJECT;
  #isCounted = false;
  /** Units already paid towards the next charge. */
  #prepaid = 0;
  /**
   * Whether the request may read as much as a paid one. A free one, and one of an exhausted budget that may
   * turn out to be free, may not, until it has paid.
   */
  hasPaid = true;
  /** The limiter's latest decision; undefined until the first charge. */
  decision: Decision | undefined;
  /** Units charged so far. */
  units = 0;

  constructor({ principal, address, store, counters, now }: SessionOptions) {
    this.principal = principal;
    this.#address = address;
    this.store = store;
    this.now = now;
    this.#counters = counters;
    this.history = counters.history;
  }

  /** Whether the key may be used from where the caller is. */
  get isAllowed(): boolean {
    return this.#address === undefined || (this.principal.networks?.has(this.#address) ?? true);
  }

  /**
   * Requires that the key permits something now and for as long as a stream is open.
   *
   * @param requirement throws FORBIDDEN if the key does not permit it
   */
  require(requirement: (principal: Principal) => MaybePromise<void>): MaybePromise<void> {
    this.#requirements.push(requirement);
    return requirement(this.principal);
  }

  /**
   * Goes on with the key as it is by now.
   *
   * @throws FORBIDDEN if it no longer permits what is open
   */
  async renew(principal: Principal): Promise<void> {
    this.principal = principal;
    if (!this.isAllowed) throw foreignAddress();
    for (const requirement of this.#requirements) await requirement(principal);
  }

  /**
   * Refuses a request before its body is read if the outcome is already known. A cached ban costs nothing
   * more. An exhausted budget is charged at the store, so that the refusal can count as a strike. If the
   * store has budget left after all, the request continues with what it has paid. The same holds once all
   * free work of the second is done: what comes then is paid in advance, and refused if it cannot be.
   *
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  begin(expected: ExpectedCost): MaybePromise<void> {
    const known = this.#counters.limiter.cachedDecision(this.principal, this.now());
    if (known?.outcome === 'banned') throw this.#refuse(0, known);
    if (expected === 'free') return;
    const mayBeFree = expected === 'perhaps free' && this.#hasRoomForFreeWork(1);
    if (known === undefined && (mayBeFree || expected === 'charged')) return;
    if (!mayBeFree) return this.pay();
    const exhausted = this.#limit('free requests of an empty budget', FREE_REQUESTS);
    return andThen(this.#counters.window.take(exhausted, 1), (refusal) => {
      if (refusal !== undefined) return this.pay();
      this.hasPaid = false;
    });
  }

  /**
   * Charges a request about to run. Bursts are refused first, so that they use up nothing of the plan.
   *
   * @param units the cost of the request
   * @param mutations number of writing fields; all of them pass or none
   * @param bytes how much of a request of price 0 was read. Beyond the free work of a second it costs a unit.
   * @param documents how many were read of them
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admit(units: number, mutations: number, bytes = 0, documents = 1): MaybePromise<void> {
    const max = PLANS[this.principal.plan].mutationsPerSecond;
    if (units === 0)
      return andThen(this.#doFreeWork(bytes, documents), (isFree) => this.charge(isFree ? 0 : 1));
    if (max === null || mutations === 0) return this.charge(units);
    const limit = this.#limit('mutations', max);
    return andThen(this.#counters.window.take(limit, mutations), (refusal) => {
      if (refusal === undefined) return this.charge(units);
      // Charges nothing: a ban takes precedence over any other limit, and the response shows what is left.
      return andThen(this.charge(0), () => {
        throw this.#refuseForOneSecond(refusal, limit);
      });
    });
  }

  /**
   * Admits a request that is free by its path, subject to the limit on their number and on free work. What it
   * reads must stay within what is free (`hasPaid`).
   *
   * @param bytes to read for it
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admitFree(bytes: number): MaybePromise<void> {
    this.hasPaid = false;
    const limit = this.#limit('free requests', FREE_REQUESTS);
    return andThen(this.charge(0), () =>
      andThen(this.#counters.window.take(limit, 1), async (refusal) => {
        if (refusal !== undefined) throw this.#refuseForOneSecond(`${refusal} Retry in 1 s.`, limit);
        if (await this.#doFreeWork(bytes)) return;
        const [work] = this.#freeWork().toSorted((a, b) => this.#room(a) - this.#room(b));
        throw this.#refuseForOneSecond('Too much free work. Retry in 1 s.', work!);
      }),
    );
  }

  /** Pays towards the next charge, before the request does more than what is free. @throws as `charge` */
  pay(): MaybePromise<void> {
    const paid = this.#prepaid > 0 ? undefined : this.#charge(FAILURE_COST, 0);
    return andThen(paid, () => {
      this.#prepaid = FAILURE_COST;
      this.hasPaid = true;
    });
  }

  /** @returns whether it is within the free work of this second, or paid for */
  async #doFreeWork(bytes: number, documents = 1): Promise<boolean> {
    if (this.#prepaid > 0) return true;
    const work = Math.max(documents, Math.ceil(bytes / FREE_BYTES));
    if (!this.#hasRoomForFreeWork(work)) return false;
    for (const limit of this.#freeWork()) await this.#counters.window.take(limit, work);
    return true;
  }

  #hasRoomForFreeWork(work: number): boolean {
    return this.#counters.window.isIdle || this.#freeWork().every((limit) => this.#room(limit) >= work);
  }

  #freeWork(): Limit[] {
    const ofKey = this.#limit('free work', FREE_WORK.key);
    if (this.#address === undefined) return [ofKey];
    const caller = customerNetwork(this.#address);
    return [ofKey, { name: 'free work of an address', caller, max: FREE_WORK.address }];
  }

  #limit(name: string, max: number): Limit {
    return { name, caller: this.principal.id, max };
  }

  #room(limit: Limit): number {
    return this.#counters.window.room(limit);
  }

  /**
   * Charges all of the units or none.
   *
   * @param units 0 only reads
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  charge(units: number): MaybePromise<void> {
    const prepaid = this.#prepaid;
    this.#prepaid = 0;
    const due = Math.max(0, units - prepaid);
    return prepaid === 0 ? this.#charge(due, due) : this.#chargeRest(due, prepaid);
  }

  async #chargeRest(units: number, prepaid: number): Promise<void> {
    try {
      await this.#charge(units, units);
    } finally {
      this.#count(prepaid, 0);
    }
  }

  /** Ends a request that failed. What it had paid for is in the history. */
  fail(): MaybePromise<void> {
    if (!this.decision) return this.charge(FAILURE_COST);
    this.#count(this.#prepaid, 0);
    this.#prepaid = 0;
  }

  /** @param counted units for the history; those paid in advance are counted once it is known what for */
  #charge(units: number, counted: number): MaybePromise<void> {
    const { store, principal } = this;
    const fail = (error: unknown): never => {
      this.decision = this.#uncountedDecision();
      throw error;
    };
    let decision: MaybePromise<Decision>;
    try {
      decision = this.#counters.limiter.charge(store, principal, units, this.now());
    } catch (error) {
      return fail(error);
    }
    return decision instanceof Promise
      ? decision.then((known) => this.#enforce(units, counted, known), fail)
      : this.#enforce(units, counted, decision);
  }

  #enforce(units: number, counted: number, decision: Decision): void {
    if (decision.outcome !== 'passed') {
      if (decision.outcome === 'refused') this.#count(0, 1);
      throw this.#refuse(units, decision);
    }
    this.decision = decision;
    this.units += units;
    this.#count(counted, 0);
  }

  /** Counts units and refusals for what the request is about. It is itself counted once. */
  #count(units: number, refused: number): void {
    const { history } = this;
    const { id } = this.principal;
    const now = this.now();
    if (units === 0 && refused === 0) {
      history.touch(id, now);
      return;
    }
    if (typeof this.subject === 'function') this.subject = this.subject();
    const { transport, operations } = this.subject;
    const requests = units > 0 && !this.#isCounted ? 1 : 0;
    if (units > 0) this.#isCounted = true;
    let rest = units;
    for (let i = 1; i < operations.length; i++) {
      const own = Math.min(rest, operations[i]!.units);
      rest -= own;
      if (own > 0)
        history.add(id, now, transport, operations[i]!.name, { requests: 0, units: own, refused: 0 });
    }
    this.#countFirst(requests, rest, refused);
  }

  /** Counts a request that was paid for together with others, unless a charge of its own has counted it. */
  countRequest(): void {
    if (this.#isCounted) return;
    this.#isCounted = true;
    this.#countFirst(1, 0, 0);
  }

  /** Counts for the first of the operations. */
  #countFirst(requests: number, units: number, refused: number): void {
    if (typeof this.subject === 'function') this.subject = this.subject();
    const { transport, operations } = this.subject;
    const name = operations.length === 0 ? OTHER : operations[0]!.name;
    this.history.add(this.principal.id, this.now(), transport, name, { requests, units, refused });
  }

  /** The budget after the last charge. Costs no read. */
  budget(cost: number): RateLimitView {
    const { minute, day, strikes } = this.decision!;
    const refusalsUntilBan = strikesUntilBan(strikes, this.now());
    return { cost, plan: this.principal.plan, minute, day, refusalsUntilBan };
  }

  #refuse(units: number, decision: Decision): AppError {
    this.decision = decision;
    const retryAfter = decision.retryAfter!;
    if (decision.outcome === 'banned') {
      return new AppError(
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
    return new AppError(
      'RATE_LIMITED',
      `The plan allows ${tightest.limit} requests per ${window}; ${tightest.remaining} are left and this one costs ${units}. ${advice}`,
      { retryAfter },
    );
  }

  /** Response headers show the window that refused, even if it is not one of the plan's. */
  #refuseForOneSecond(message: string, limit: Limit): AppError {
    const tightest = { limit: limit.max, remaining: this.#room(limit), resetAt: this.now() + 1_000 };
    this.decision = { ...this.decision!, outcome: 'refused', tightest };
    return new AppError('RATE_LIMITED', message, { retryAfter: 1 });
  }

  /** A request that cannot be counted does not pass, and the headers say so. */
  #uncountedDecision(): Decision {
    const { perMinute, perDay } = this.principal.limits;
    const minute = { limit: perMinute, remaining: 0, resetAt: this.now() + 1_000 };
    const day = { ...minute, limit: perDay };
    return { outcome: 'refused', minute, day, tightest: minute, strikes: [] };
  }
}

import { AppError } from '../foundation/errors.ts';
import { andThen, type MaybePromise } from '../foundation/turns.ts';
import type { PlanName } from '../store/stored-api-keys.ts';
import type { Store } from '../store/store.ts';
import type { UsageTransport } from '../store/stored-usage-history.ts';
import type { Principal } from './api-keys.ts';
import type { FixedWindows } from './fixed-windows.ts';
import type { Decision, Limiter, WindowView } from './limiter.ts';
import { foreignAddress } from './networks.ts';
import { PLANS } from './plans.ts';
import type { RequestLog } from './request-log.ts';
import type { MutationBursts } from './mutation-bursts.ts';
import { OTHER, type UsageHistory } from './usage-history.ts';

/** Units charged for a request that fails before its price is known. */
export const FAILURE_PRICE = 1;

/** The caller's budget, as shown to clients. */
export interface RateLimitView {
  /** Units charged for the operation. */
  cost: number;
  plan: PlanName;
  minute: WindowView;
  day: WindowView;
}

/** The subject under which charges are counted in the usage history. */
export interface UsageSubject {
  transport: UsageTransport;
  /** The root fields with their units. The request itself and any further units count for the first. */
  rootFields: readonly { readonly name: string; readonly units: number }[];
}

/** The counters shared by all sessions of a process. */
export interface Counters {
  history: UsageHistory;
  requestLog: RequestLog;
  limiter: Limiter;
  bursts: MutationBursts;
  freeRequests: FixedWindows;
  /** Milliseconds since 1970. */
  now: () => number;
}

const NO_SUBJECT: UsageSubject = { transport: 'rest', rootFields: [] };

/** The sender of a request. */
export interface Sender {
  /** The key as sent in a header. */
  readonly apiKey: string | undefined;
  readonly address: string;
}

/**
 * The expected price of a request before its body is read: certainly charged, possibly free, or free by its path
 * (`Session.requireFree`).
 */
export type ExpectedPrice = 'charged' | 'perhaps free' | 'free';

/** Bytes of a body per unit. */
const BYTES_PER_UNIT = 10_000;

/**
 * The permissions and budget of a principal in one request or stream, over any transport. All charges go through it.
 */
export class Session {
  readonly store: Store;
  readonly now: () => number;
  readonly counters: Counters;
  /** Undefined for work without a request. */
  readonly sender: Sender | undefined;
  /** The key as of its last check. */
  principal: Principal;
  /** Checks of the permissions that an open stream needs. */
  #requirements: ((principal: Principal) => MaybePromise<void>)[] = [];
  /** The subject of the next charges, or a function that computes it when needed, which is rare. */
  subject: UsageSubject | (() => UsageSubject) = NO_SUBJECT;
  #isCounted = false;
  /** Bytes of the body that have been read but not charged. */
  bodyBytes = 0;
  /** True if the request is one of the free ones of its second. */
  #isFree = false;
  /** The limiter's latest decision; undefined until the first charge. */
  decision: Decision | undefined;
  /** Units charged so far. */
  units = 0;

  /** @param store the store for charges and for the request's reads and writes */
  constructor(principal: Principal, store: Store, counters: Counters, sender?: Sender) {
    this.principal = principal;
    this.store = store;
    this.counters = counters;
    this.now = counters.now;
    this.sender = sender;
  }

  /** True if the key may be used from the sender's address. */
  get isAllowed(): boolean {
    const { networks } = this.principal;
    return !this.sender || !networks || networks.has(this.sender.address);
  }

  /**
   * Requires a permission now, and again at each check of an open stream.
   *
   * @param requirement throws FORBIDDEN if the key does not permit it
   */
  require(requirement: (principal: Principal) => MaybePromise<void>): MaybePromise<void> {
    this.#requirements.push(requirement);
    return requirement(this.principal);
  }

  /**
   * Replaces the key by its current state.
   *
   * @param principal null if it is no longer valid
   * @throws UNAUTHENTICATED, FORBIDDEN if it no longer permits the open stream
   */
  async renew(principal: Principal | null): Promise<void> {
    if (!principal) throw new AppError('UNAUTHENTICATED', 'The API key is no longer valid.');
    this.principal = principal;
    if (!this.isAllowed) throw foreignAddress();
    for (const requirement of this.#requirements) await requirement(principal);
  }

  /**
   * Refuses a request before its body is read if the verdict is certain. A cached ban costs no read. An exhausted
   * budget is charged in the store, so that the refusal can count as a strike.
   *
   * Possibly free requests are read regardless, within FREE_REQUESTS.
   *
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  begin(expected: ExpectedPrice): MaybePromise<void> {
    const cached = this.counters.limiter.cachedDecision(this.principal, this.now());
    if (cached?.verdict === 'banned') throw this.#refusalOf(0, cached);
    if (!cached || expected === 'free') return;
    if (expected === 'charged' || !this.#takeFree()) return this.charge(FAILURE_PRICE);
  }

  /** Charges nothing for the free requests of a second, and a unit for each further one. @throws like `charge` */
  chargeFree(): MaybePromise<void> {
    return this.charge(this.#takeFree() ? 0 : 1);
  }

  /** Charges nothing for the free requests of a second. @throws RATE_LIMITED for further ones, and like `charge` */
  async requireFree(): Promise<void> {
    await this.charge(0);
    if (this.#takeFree()) return;
    const { limit, remaining } = this.counters.freeRequests.view(this.principal.account);
    throw this.#guardRefusal('free requests', limit, remaining);
  }

  #takeFree(): boolean {
    this.#isFree ||= this.counters.freeRequests.take(this.principal.account);
    return this.#isFree;
  }

  /** The cost of a request: the larger of its price and the cost of its body. */
  costOf(units: number): number {
    const ofBody = Math.ceil(this.bodyBytes / BYTES_PER_UNIT);
    return units > 0 || ofBody > 1 ? Math.max(units, ofBody) : 0;
  }

  /**
   * Charges all of the units or none, and at least the cost of the request's body. Bursts of mutations are refused
   * first, without using up the plan.
   *
   * @param units 0 only reads
   * @param mutations the number of mutation fields; all of them pass, or none
   * @throws RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  charge(units: number, mutations = 0): MaybePromise<void> {
    const due = this.costOf(units);
    this.bodyBytes = 0;
    const { account, plan } = this.principal;
    const max = mutations === 0 ? null : PLANS[plan].mutationsPerSecond;
    if (max === null) return this.#charge(due);
    return andThen(this.counters.bursts.take(account, mutations, max), (passes) => {
      if (passes) return this.#charge(due);
      // Charging 0 lets a ban take precedence and gets the windows for the headers.
      return andThen(this.#charge(0), () => {
        throw this.#guardRefusal('mutations', max, this.counters.bursts.remaining(account, max), mutations);
      });
    });
  }

  /**
   * Charges a failed request, whose cost may be unknown.
   *
   * @returns the error to respond with: an exhausted budget takes precedence
   */
  async fail(error: unknown): Promise<unknown> {
    try {
      if (!this.decision) await this.charge(FAILURE_PRICE);
      else if (this.costOf(0) > 0) await this.charge(0);
      return error;
    } catch (refusal) {
      return refusal;
    }
  }

  #charge(units: number): MaybePromise<void> {
    const { store, principal } = this;
    const fail = (error: unknown): never => {
      this.decision = this.#uncountedDecision();
      throw error;
    };
    let charged: MaybePromise<Decision>;
    try {
      charged = this.counters.limiter.charge(store, principal, units, this.now());
    } catch (error) {
      return fail(error);
    }
    if (charged instanceof Promise)
      return charged.catch(fail).then((decision) => this.#enforce(units, decision));
    return this.#enforce(units, charged);
  }

  #enforce(units: number, decision: Decision): void {
    if (decision.verdict !== 'passed') {
      if (decision.verdict === 'refused') this.#count(0, 1);
      throw this.#refusalOf(units, decision);
    }
    this.decision = decision;
    this.units += units;
    this.#count(units, 0);
  }

  get resolvedSubject(): UsageSubject {
    if (typeof this.subject === 'function') this.subject = this.subject();
    return this.subject;
  }

  /** Counts units and refusals under the request's subject, and the request itself once. */
  #count(units: number, refused: number, isRequest = units > 0): void {
    const { history } = this.counters;
    const { id } = this.principal;
    const now = this.now();
    if (units === 0 && refused === 0 && !isRequest) {
      history.touch(id, now);
      return;
    }
    const { transport, rootFields } = this.resolvedSubject;
    const requests = isRequest && !this.#isCounted ? 1 : 0;
    if (isRequest) this.#isCounted = true;
    let rest = units;
    for (let i = 1; i < rootFields.length; i++) {
      const own = Math.min(rest, rootFields[i]!.units);
      rest -= own;
      if (own > 0)
        history.add(id, now, transport, rootFields[i]!.name, { requests: 0, units: own, refused: 0 });
    }
    history.add(id, now, transport, rootFields[0]?.name ?? OTHER, { requests, units: rest, refused });
  }

  /** Counts a request that was paid for together with others, unless a charge of its own did. */
  countRequest(): void {
    if (!this.#isCounted) this.#count(0, 0, true);
  }

  /** The budget after the last charge, without a read. */
  budget(cost: number): RateLimitView {
    const { minute, day } = this.decision!;
    return { cost, plan: this.principal.plan, minute, day };
  }

  #refusalOf(units: number, decision: Decision): AppError {
    this.decision = decision;
    const retryAfter = decision.retryAfter!;
    if (decision.verdict === 'banned') {
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

  /** The error of a guard, whose window the response headers then show instead of the plan's. */
  #guardRefusal(name: string, limit: number, remaining: number, amount = 1): AppError {
    this.decision = {
      ...this.decision!,
      verdict: 'refused',
      tightest: { limit, remaining, resetAt: this.now() + 1_000 },
    };
    const advice = amount > limit ? `Send at most ${limit} at once.` : 'Retry in 1 s.';
    const message = `The key exceeds ${limit} ${name} per second. ${advice}`;
    return new AppError('RATE_LIMITED', message, { retryAfter: 1 });
  }

  /** The decision on a request that cannot be counted: it does not pass, and nothing is left. */
  #uncountedDecision(): Decision {
    const { perMinute, perDay } = this.principal.limits;
    const minute = { limit: perMinute, remaining: 0, resetAt: this.now() + 1_000 };
    const day = { ...minute, limit: perDay };
    return { verdict: 'refused', minute, day, tightest: minute };
  }
}

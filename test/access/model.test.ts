import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DAY, MINUTE, SECOND } from '../../src/foundation/instant.ts';
import type { Limits } from '../../src/store/limiter-algorithm.ts';
import { cases } from '../kit/cases.ts';
import type { Reply, TestGateway } from '../kit/gateway.ts';
import { onEachEngine } from '../kit/petstore.ts';

interface Window {
  length: number;
  limit: number;
  openedAt: number;
  used: number;
}

interface Expected {
  status: number;
  limit: number;
  remaining: number;
  reset: number;
  retryAfter: number | undefined;
}

const end = ({ openedAt, length }: Window): number => openedAt + length;
const left = ({ limit, used }: Window): number => limit - used;

/** A model of the limiter that states its rules as plainly as possible. */
class LimiterModel {
  #minute: Window;
  #day: Window;
  /** When the Retry-After of each refusal ends. */
  readonly #retryTimes: number[] = [];
  #strikes: number[] = [];
  #bannedUntil = Number.NEGATIVE_INFINITY;
  #bans = 0;
  /** Requests on an exhausted budget that were read because they might be free. */
  #reads: Window = { length: SECOND, limit: 10, openedAt: Number.NEGATIVE_INFINITY, used: 0 };
  /** True if the last request was read, and so decided by its real cost. */
  wasRead = true;

  constructor({ perMinute, perDay }: Limits) {
    const unopened = { openedAt: Number.NEGATIVE_INFINITY, used: 0 };
    this.#minute = { length: MINUTE, limit: perMinute, ...unopened };
    this.#day = { length: DAY, limit: perDay, ...unopened };
  }

  request(now: number, { transport, cost: ownCost }: ModelRequest): Expected {
    const asOfNow = (window: Window) => (now < end(window) ? window : { ...window, openedAt: now, used: 0 });
    const expected = (status: number, window: Window, until?: number): Expected => ({
      status,
      limit: window.limit,
      remaining: left(window),
      reset: Math.ceil(end(window) / SECOND),
      retryAfter: until === undefined ? undefined : Math.max(1, Math.ceil((until - now) / SECOND)),
    });
    const smaller = (a: Window, b: Window) => (left(b) < left(a) ? b : a);
    const minute = asOfNow(this.#minute);
    const day = asOfNow(this.#day);

    if (now < this.#bannedUntil) return expected(403, smaller(minute, day), this.#bannedUntil);
    // What may be free, and what an empty budget may still ask, shares ten a second; beyond it is charged a unit.
    const isEmpty = left(minute) === 0 || left(day) === 0;
    const isBeyond = transport !== 'rest' && (isEmpty || ownCost === 0) && !this.#mayRead(now);
    const cost = isBeyond ? 1 : ownCost;
    this.wasRead = cost === ownCost;
    const charged = (window: Window) => ({ ...window, used: window.used + cost });
    const refusing = [minute, day].filter((window) => left(window) < cost);
    if (refusing.length === 0) {
      if (cost > 0) [this.#minute, this.#day] = [charged(minute), charged(day)];
      return expected(200, smaller(charged(minute), charged(day)));
    }
    const isStrike = this.#retryTimes.some((until) => now < until);
    if (isStrike) this.#strikes.push(now);
    this.#strikes = this.#strikes.filter((at) => now - at < 10 * MINUTE);
    if (isStrike && this.#strikes.length >= 20) {
      this.#bans = now < this.#bannedUntil + DAY ? this.#bans + 1 : 1;
      this.#bannedUntil = now + Math.min(DAY, MINUTE * 2 ** (this.#bans - 1));
      this.#strikes = [];
      return expected(403, smaller(minute, day), this.#bannedUntil);
    }
    // A retry passes once the last window that refused has ended.
    const last = refusing.reduce((a, b) => (end(a) > end(b) ? a : b));
    const refusal = expected(429, last, end(last));
    this.#retryTimes.push(now + refusal.retryAfter! * SECOND);
    return refusal;
  }

  #mayRead(now: number): boolean {
    if (now >= end(this.#reads)) this.#reads = { ...this.#reads, openedAt: now, used: 0 };
    return left(this.#reads) > 0 && this.#reads.used++ >= 0;
  }
}

/** A request with a given cost, over REST or one of several forms of GraphQL. */
interface ModelRequest {
  transport: 'rest' | 'aliases' | 'lists' | 'batch';
  cost: number;
}

/** The next step of a client. */
type Step =
  | { action: 'send'; request: ModelRequest; times: number }
  | { action: 'wait'; milliseconds: number }
  /** Repeats a refused request after its Retry-After, or a second too early. */
  | { action: 'retry' | 'retry early' };

function send(gateway: TestGateway, key: string, { transport, cost }: ModelRequest): Promise<Reply> {
  if (transport === 'rest') return gateway.call('/pets?limit=1', { key });
  const aliases = (count: number) => ({
    query: `{ rateLimit { plan } ${Array.from({ length: count }, (_, i) => `a${i}: pet(id: 1) { id }`).join(' ')} }`,
  });
  const lists = {
    query: `{ categories(first: ${cost}) { nodes { pets(first: 99) { nodes { id } } } } }`,
  };
  const body = { aliases: aliases(cost), lists, batch: [aliases(1), aliases(cost - 1)] }[transport];
  return gateway.call('/graphql', { method: 'POST', key, body });
}

const requests = (
  transport: ModelRequest['transport'],
  min: number,
  max: number,
): fc.Arbitrary<ModelRequest> => fc.integer({ min, max }).map((cost) => ({ transport, cost }));
const request = fc.oneof(
  { weight: 3, arbitrary: requests('rest', 1, 1) },
  { weight: 2, arbitrary: requests('aliases', 0, 7) },
  requests('lists', 1, 5),
  requests('batch', 1, 6),
);
const duration = fc.oneof(
  fc.integer({ min: 1, max: 90 * SECOND }),
  fc
    .tuple(
      fc.constantFrom(SECOND, MINUTE, 2 * MINUTE, 10 * MINUTE, DAY, DAY + MINUTE),
      fc.constantFrom(-SECOND, -1, 0, 1, 999),
    )
    .map(([length, offset]) => length + offset),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      action: fc.constant('send' as const),
      request,
      times: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 8 }) }, fc.constantFrom(21, 25)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ action: fc.constant('wait' as const), milliseconds: duration }) },
  { weight: 2, arbitrary: fc.record({ action: fc.constantFrom('retry' as const, 'retry early' as const) }) },
);
const scenario = fc.record({
  limits: fc.record({ perMinute: fc.integer({ min: 1, max: 12 }), perDay: fc.integer({ min: 1, max: 40 }) }),
  steps: fc.array(step, { minLength: 4, maxLength: 16 }),
});

const actual = ({ status, headers }: Reply): Expected => ({
  status,
  limit: Number(headers['x-ratelimit-limit']),
  remaining: Number(headers['x-ratelimit-remaining']),
  reset: Number(headers['x-ratelimit-reset']),
  retryAfter: headers['retry-after'] === undefined ? undefined : Number(headers['retry-after']),
});

onEachEngine('the limiter', (kit, { name }) => {
  const runs = Number(process.env.PROPERTY_RUNS ?? (name === 'sqlite' ? cases(12, 100) : cases(2, 6)));

  it('responds as its model predicts to random sequences of requests, waits and retries', async () => {
    const { gateway, clock } = kit;
    const statuses = new Set<number>();
    const run = async ({ limits, steps }: { limits: Limits; steps: readonly Step[] }) => {
      clock.advance(1_234);
      const key = await gateway.newKey('enterprise', limits);
      const model = new LimiterModel(limits);
      const trace: unknown[] = [limits];
      let refused: { request: ModelRequest; retryAt: number } | undefined;
      const check = async (request: ModelRequest): Promise<number> => {
        const expected = model.request(clock.time, request);
        const reply = await send(gateway, key, request);
        trace.push({ at: clock.time, ...request, status: reply.status });
        statuses.add(reply.status);
        expect(actual(reply), JSON.stringify(trace)).toEqual(expected);
        // A request that costs more than a whole window never passes. Retry-After for an unread one assumes 1 unit.
        const mayPass = model.wasRead && request.cost <= Math.min(limits.perMinute, limits.perDay);
        if (reply.status === 429 && mayPass)
          refused = { request, retryAt: clock.time + expected.retryAfter! * SECOND };
        // A request that passes in the meantime may use up what the retry would need.
        else if (reply.status === 200 && request.cost > 0) refused = undefined;
        return reply.status;
      };
      for (const step of steps) {
        if (step.action === 'wait') clock.advance(step.milliseconds);
        else if (step.action === 'send') for (let i = 0; i < step.times; i++) await check(step.request);
        else if (refused && clock.time <= refused.retryAt - SECOND) {
          const { request, retryAt } = refused;
          clock.time = step.action === 'retry' ? retryAt : retryAt - SECOND;
          const status = await check(request);
          // Checks Retry-After independently of the model, unless the key was banned in the meantime.
          if (status !== 403) expect(status, JSON.stringify(trace)).toBe(step.action === 'retry' ? 200 : 429);
        }
      }
    };
    await fc.assert(fc.asyncProperty(scenario, run), { numRuns: runs });
    if (runs >= 50) expect([...statuses].sort()).toEqual([200, 403, 429]);
  }, 600_000);
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Limits } from '../../src/store/store.ts';
import type { Reply, TestGateway } from '../kit/gateway.ts';
import { onEachEngine } from '../kit/petstore.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

interface Window {
  length: number;
  limit: number;
  openedAt: number;
  used: number;
}

interface Answer {
  status: number;
  limit: number;
  remaining: number;
  reset: number;
  retryAfter: number | undefined;
}

const end = ({ openedAt, length }: Window): number => openedAt + length;
const left = ({ limit, used }: Window): number => limit - used;

/** The rules of the limiter as plainly as they can be written: what the gateway is held against. */
class Contract {
  #minute: Window;
  #day: Window;
  /** Ends of the Retry-After of all refusals. */
  readonly #promises: number[] = [];
  #strikes: number[] = [];
  #bannedUntil = Number.NEGATIVE_INFINITY;
  #bans = 0;
  /** When something was read that might have been free, though nothing was left. */
  #read: number[] = [];
  /** Whether the last request was refused or let through for what it costs. */
  wasRead = true;

  constructor({ perMinute, perDay }: Limits) {
    const unopened = { openedAt: Number.NEGATIVE_INFINITY, used: 0 };
    this.#minute = { length: MINUTE, limit: perMinute, ...unopened };
    this.#day = { length: DAY, limit: perDay, ...unopened };
  }

  request(now: number, { transport, cost: asked }: Ask): Answer {
    const asOfNow = (window: Window) => (now < end(window) ? window : { ...window, openedAt: now, used: 0 });
    const answer = (status: number, window: Window, until?: number): Answer => ({
      status,
      limit: window.limit,
      remaining: left(window),
      reset: Math.ceil(end(window) / SECOND),
      retryAfter: until === undefined ? undefined : Math.max(1, Math.ceil((until - now) / SECOND)),
    });
    const smaller = (a: Window, b: Window) => (left(b) < left(a) ? b : a);
    const minute = asOfNow(this.#minute);
    const day = asOfNow(this.#day);

    if (now < this.#bannedUntil) return answer(403, smaller(minute, day), this.#bannedUntil);
    const isUnread = transport !== 'rest' && (left(minute) === 0 || left(day) === 0) && !this.#mayRead(now);
    const cost = isUnread ? 1 : asked;
    this.wasRead = cost === asked;
    const charged = (window: Window) => ({ ...window, used: window.used + cost });
    const refusing = [minute, day].filter((window) => left(window) < cost);
    if (refusing.length === 0) {
      if (cost > 0) [this.#minute, this.#day] = [charged(minute), charged(day)];
      return answer(200, smaller(charged(minute), charged(day)));
    }
    const isStrike = this.#promises.some((until) => now < until);
    if (isStrike) this.#strikes.push(now);
    this.#strikes = this.#strikes.filter((at) => now - at < 10 * MINUTE);
    if (isStrike && this.#strikes.length >= 20) {
      this.#bans = now < this.#bannedUntil + DAY ? this.#bans + 1 : 1;
      this.#bannedUntil = now + Math.min(DAY, MINUTE * 2 ** (this.#bans - 1));
      this.#strikes = [];
      return answer(403, smaller(minute, day), this.#bannedUntil);
    }
    // A retry passes once the last of the windows that refused is over.
    const last = refusing.reduce((a, b) => (end(a) > end(b) ? a : b));
    const refusal = answer(429, last, end(last));
    this.#promises.push(now + refusal.retryAfter! * SECOND);
    return refusal;
  }

  /** Ten a second. */
  #mayRead(now: number): boolean {
    this.#read = this.#read.filter((at) => now - at < SECOND);
    return this.#read.length < 10 && this.#read.push(now) > 0;
  }
}

/** One request of some cost, over REST or one of the forms of GraphQL. */
interface Ask {
  transport: 'rest' | 'aliases' | 'lists' | 'batch';
  cost: number;
}

/** What a client does next. */
type Step =
  | { does: 'ask'; ask: Ask; times: number }
  | { does: 'wait'; milliseconds: number }
  /** After a refusal: waits as long as told (or a second less), then asks for the same again. */
  | { does: 'obey' | 'hurry' };

function send(gateway: TestGateway, key: string, { transport, cost }: Ask): Promise<Reply> {
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

const asks = (transport: Ask['transport'], min: number, max: number): fc.Arbitrary<Ask> =>
  fc.integer({ min, max }).map((cost) => ({ transport, cost }));
const ask = fc.oneof(
  { weight: 3, arbitrary: asks('rest', 1, 1) },
  { weight: 2, arbitrary: asks('aliases', 0, 7) },
  asks('lists', 1, 5),
  asks('batch', 1, 6),
);
const span = fc.oneof(
  fc.integer({ min: 1, max: 90 * SECOND }),
  fc
    .tuple(
      fc.constantFrom(SECOND, MINUTE, 2 * MINUTE, 10 * MINUTE, DAY, DAY + MINUTE),
      fc.constantFrom(-SECOND, -1, 0, 1, 999),
    )
    .map(([length, off]) => length + off),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('ask' as const),
      ask,
      times: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 8 }) }, fc.constantFrom(21, 25)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('wait' as const), milliseconds: span }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('obey' as const, 'hurry' as const) }) },
);
const story = fc.record({
  limits: fc.record({ perMinute: fc.integer({ min: 1, max: 12 }), perDay: fc.integer({ min: 1, max: 40 }) }),
  steps: fc.array(step, { minLength: 4, maxLength: 16 }),
});

const shown = ({ status, headers }: Reply): Answer => ({
  status,
  limit: Number(headers['x-ratelimit-limit']),
  remaining: Number(headers['x-ratelimit-remaining']),
  reset: Number(headers['x-ratelimit-reset']),
  retryAfter: headers['retry-after'] === undefined ? undefined : Number(headers['retry-after']),
});

onEachEngine('the limiter', (kit, { name }) => {
  const runs = Number(process.env.PROPERTY_RUNS ?? (name === 'sqlite' ? 100 : 6));

  it('does what the contract says, whatever a client does', { timeout: 600_000 }, async () => {
    const { gateway, clock } = kit;
    const statuses = new Set<number>();
    const play = async ({ limits, steps }: { limits: Limits; steps: readonly Step[] }) => {
      clock.advance(1_234);
      const key = await gateway.newKey('enterprise', limits);
      const contract = new Contract(limits);
      const told: unknown[] = [limits];
      let refused: { ask: Ask; retryAt: number } | undefined;
      const request = async (what: Ask): Promise<number> => {
        const expected = contract.request(clock.time, what);
        const reply = await send(gateway, key, what);
        told.push({ at: clock.time, ...what, answer: reply.status });
        statuses.add(reply.status);
        expect(shown(reply), JSON.stringify(told)).toEqual(expected);
        // What costs more than a whole window never passes, and what is not read is promised the least there is.
        const mayPass = contract.wasRead && what.cost <= Math.min(limits.perMinute, limits.perDay);
        if (reply.status === 429 && mayPass)
          refused = { ask: what, retryAt: clock.time + expected.retryAfter! * SECOND };
        // What passes in the meantime may use up what the promise counted on.
        else if (reply.status === 200 && what.cost > 0) refused = undefined;
        return reply.status;
      };
      for (const one of steps) {
        if (one.does === 'wait') clock.advance(one.milliseconds);
        else if (one.does === 'ask') for (let i = 0; i < one.times; i++) await request(one.ask);
        else if (refused && clock.time <= refused.retryAt - SECOND) {
          const { ask: same, retryAt } = refused;
          clock.time = one.does === 'obey' ? retryAt : retryAt - SECOND;
          const status = await request(same);
          // The promise itself, whatever the model says; a ban in the meantime is another matter.
          if (status !== 403) expect(status, JSON.stringify(told)).toBe(one.does === 'obey' ? 200 : 429);
        }
      }
    };
    await fc.assert(fc.asyncProperty(story, play), { numRuns: runs });
    if (runs >= 50) expect([...statuses].sort()).toEqual([200, 403, 429]);
  });
});

import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { AppError } from '../../src/foundation/errors.ts';
import { andThen, type MaybePromise } from '../../src/foundation/maybe-promise.ts';
import type { PageRequest } from '../../src/store/table.ts';
import { cases } from '../kit/cases.ts';
import { type Choices, type Operation, TIMES, UNREADABLE, Writer, written } from '../kit/documents.ts';
import { failing } from '../kit/failing.ts';
import { TestGateway } from '../kit/gateway.ts';
import {
  type Answer,
  differenceOf,
  faultsOf,
  isHeld,
  Model,
  permitted,
  priceOf,
  scopesOf,
  Teller,
} from '../kit/model.ts';
import { expectQueryRefusal, type Kit, onEachEngine, type Sent, send } from '../kit/petstore.ts';

/**
 * Random documents against a model of what they answer, cost and need (test/kit/model.ts). Each is sent several times
 * with changing variables, as clients do: first it is interpreted, later compiled code runs; by POST and by QUERY, which
 * Yoga serves; alone and in a batch; by a key that may do everything and by one that may not.
 */

/** A client, with what it knows to be stored. Ids that it chooses are its own. */
class Client implements Choices {
  model = new Model();
  readonly hasEvents: boolean;
  readonly sizes: readonly number[];
  readonly #kit: Kit;
  readonly #base: bigint;
  #draws = 0;
  /** Called when a mutation has changed the model. */
  onChange = () => {};

  constructor(kit: Kit, n: number, { hasEvents, sizes }: Pick<Choices, 'hasEvents' | 'sizes'>) {
    this.#kit = kit;
    this.#base = 10n ** 12n * BigInt(n);
    this.hasEvents = hasEvents;
    this.sizes = sizes;
  }

  /** Creates records. @param most of a kind that refer to the first of another */
  async begin(most: number): Promise<void> {
    const { store } = this.#kit.opened;
    const { categories, pets, orders } = this.model;
    for (const name of ['Dogs', 'cats', 'Ünique']) {
      const category = await store
        .table(Category)
        .insert({ name, ...(name === 'Dogs' && { description: 'They bark' }) });
      categories.set(category.id, { ...category, description: category.description ?? null });
      this.model.log('category_created', category.id);
    }
    const [first, second] = [...categories.keys()] as [string, string];
    for (let n = 0; n < most + 3; n++) {
      const status = (['sold', 'available', 'pending'] as const)[n % 3]!;
      const pet = await store.table(Pet).insert({
        name: `${n % 2 === 0 ? '"' : '\\'}P${(n * 7) % 10}`,
        categoryId: n < most ? first : second,
        status,
      });
      pets.set(pet.id, { ...pet });
      this.model.log('pet_created', pet.id);
    }
    const [some, other] = [...pets.keys()] as [string, string];
    for (let n = 0; n < most + 4; n++) {
      const petId = n < most ? some : n % 2 === 0 ? other : undefined;
      const order = await store.table(Order).insert({ ...(petId && { petId }), complete: n % 2 === 0 });
      orders.set(order.id, {
        id: order.id,
        petId: petId ?? null,
        quantity: null,
        shipDate: null,
        complete: n % 2 === 0,
      });
      this.model.log('order_created', order.id);
    }
  }

  /** Mostly one of the first records of a type, now and then one that does not exist. */
  idOf(type: string): string {
    const ids = [...this.model.all(type).keys()];
    this.#draws = (this.#draws * 7 + 3) % 101;
    return this.#draws % 13 === 0 || ids.length === 0
      ? String(this.#base + 999n)
      : ids[this.#draws % Math.min(ids.length, 4)]!;
  }

  newId(): string {
    return String(this.#base + BigInt(this.#draws % 5));
  }

  /** Sends a mutation, and does the same to the model. */
  async mutate(operation: Operation): Promise<void> {
    const { text, variables } = written(operation);
    const values = Object.fromEntries(variables.map(({ name, values }) => [name, values[0]]));
    const sent = await post(this.#kit.gateway, { query: text, variables: values });
    if (isRefused(sent, operation, 0)) return;
    const isCommitted = sent.json.errors?.[0]?.extensions.committed === true;
    let unknown = 0n;
    const assigned = (key: string) =>
      sent.json.data?.[key]?.own ?? (isCommitted ? latest.id : String(this.#base + 500n + unknown++));
    const answer = new Teller(this.model, 0, priceOf(operation, 0)).answer(operation, assigned);
    expectAnswer(sent, answer);
    const mustBeCommitted = answer.model !== this.model && sent.json.errors?.length > 0;
    if (sent.json.errors && !answer.code?.match(/[A-Z]/))
      expect(sent.json.errors[0].extensions.committed, sent.about).toBe(mustBeCommitted || undefined);
    this.model = answer.model;
    this.onChange();
  }

  /** Expects everything stored to be as in the model. */
  async check(): Promise<void> {
    const { store } = this.#kit.opened;
    for (const [record, own] of [
      [Category, this.model.categories],
      [Pet, this.model.pets],
      [Order, this.model.orders],
    ] as const) {
      for (const known of own.values()) {
        const [stored] = await store.table(record).byIds([known.id]);
        const given = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== null));
        expect({ ...stored }).toEqual(given);
      }
    }
  }
}

const post = (gateway: TestGateway, body: unknown, headers = {}, key = gateway.key, method = 'POST') =>
  send(gateway, `${method} /graphql`, {
    key,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'x-ratelimit-extension': 'on', ...headers },
  });

/** Expects a refusal where the model does. @returns whether there is one */
function isRefused(sent: Sent, operation: Operation, time: number): boolean {
  const [error] = sent.json.errors ?? [];
  // The bounds of a text come before everything else. The model knows none but the price.
  const isTooComplex = error?.extensions.code === 'QUERY_TOO_COMPLEX';
  if (isTooComplex && !error.message.includes(' costs ')) return true;
  const wrong = written(operation)
    .variables.filter(({ faults }) => faults[time])
    .map(({ name }) => name);
  const faults = wrong.length > 0 ? wrong : faultsOf(operation, time);
  if (faults.length > 0) {
    expectQueryRefusal(sent, 'VALIDATION_FAILED');
    for (const { extensions } of sent.json.errors)
      for (const { path } of extensions.fields)
        expect(
          faults.some((fault) => path === fault || path.startsWith(`${fault}.`)),
          `${path} of ${faults} ${sent.about}`,
        ).toBe(true);
    return true;
  }
  if (priceOf(operation, time) <= 50 && !isTooComplex) return false;
  expectQueryRefusal(sent, 'QUERY_TOO_COMPLEX');
  return true;
}

/** A long document of price 0 costs a unit all the same. */
const expectPrice = (cost: number, price: number, about: string, mayCostMore = price === 0): void =>
  expect(mayCostMore && cost === price + 1 ? price : cost, about).toBe(price);

/** Where an answer is null because of its errors. */
function nullsIn({
  data,
  errors = [],
}: {
  data: unknown;
  errors?: { path: (string | number)[] }[];
}): string[] {
  const places = errors.map(({ path }) => {
    let value = data as Record<string, unknown> | null | undefined;
    const end = path.findIndex((part) => {
      value = value?.[part] as typeof value;
      return value == null;
    });
    return (data === null ? [] : path.slice(0, end + 1)).join('.');
  });
  return [...new Set(places)].sort();
}

function expectAnswer(
  sent: Pick<Sent, 'json' | 'about' | 'status'>,
  { data, nulls, code, at }: Answer,
): void {
  expect(sent.status, sent.about).toBe(200);
  const { json } = sent;
  expect(differenceOf(json.data, data), `${sent.about} ${JSON.stringify(data)}`).toBeUndefined();
  expect(nullsIn(json), sent.about).toEqual([...nulls].sort());
  for (const { extensions, path } of json.errors ?? []) {
    expect(extensions.code, sent.about).toBe(code ?? 'CONFLICT');
    if (at !== undefined) expect(path[0], sent.about).toBe(at);
  }
}

/** The record that was created last, whose id an answer that fails does not tell. */
let latest = { id: '0' };

onEachEngine('random documents', (kit, { name: engine }) => {
  const isSqlite = engine === 'sqlite';
  let client: Client;
  let clients = 0;
  let gateway: TestGateway;
  const keys: { key: string; scopes: string[] }[] = [];
  const newClient = (sizes: readonly number[]) =>
    new Client({ ...kit, gateway }, ++clients, { hasEvents: isSqlite, sizes });

  beforeAll(async () => {
    // Fields fail while an operation runs.
    const store = failing(kit.opened.store, /\.(pagesByParent|insert)$/, (args, method) => {
      if (args.length === 1)
        return andThen(method() as MaybePromise<typeof latest>, (record) => {
          latest = record;
          return record;
        });
      const { limit } = args[3] as unknown as PageRequest;
      if (limit === UNREADABLE) throw new AppError('CONFLICT', 'cannot be read');
      return method();
    });
    gateway = await TestGateway.start(store, {}, kit.clock);
    client = newClient([1, 2, 3, 5, 10, UNREADABLE]);
    await client.begin(isSqlite ? 105 : 6);
    const domains = ['pets', 'categories', 'orders', 'inventory', 'events', 'webhooks'];
    const held = [
      ['*:read'],
      ...domains.map((_, n) => domains.filter((__, m) => m !== n).map((domain) => `${domain}:read`)),
      ...domains
        .slice(0, 4)
        .map((_, n) =>
          domains.slice(n, n + 2).map((domain) => `${domain}:${domain === 'events' ? 'read' : 'write'}`),
        ),
    ];
    for (const scopes of held) keys.push({ scopes, key: await gateway.restrictedKey({ scopes }) });
    return () => gateway.close();
  });

  it('are answered, priced and refused as the model says, every time', async () => {
    const runs = isSqlite ? Number(process.env.DIFFERENTIAL_RUNS ?? cases(40, 400)) : cases(6, 60);
    const seen = { answered: 0, refused: 0, failed: 0, forbidden: 0, reduced: 0 };
    await fc.assert(
      fc.asyncProperty(fc.gen(), async (g) => {
        kit.clock.advance(1_000);
        const operation = new Writer(g, client).operation('Query');
        const { text, variables } = written(operation);
        const request = (time: number) => ({
          query: text,
          variables: Object.fromEntries(variables.map(({ name, values }) => [name, values[time]])),
        });
        const units: (number | undefined)[] = [];
        const texts: string[] = [];
        for (const [use, time] of [0, 1, 0, 1].entries()) {
          // The writer of compiled code leaves answers with extensions to others.
          const isPlain = use === 3;
          const sent = await post(gateway, request(time), isPlain ? { 'x-ratelimit-extension': 'off' } : {});
          if (isRefused(sent, operation, time)) {
            seen.refused++;
            continue;
          }
          const price = priceOf(operation, time);
          const answer = new Teller(client.model, time, price).answer(operation);
          expectAnswer(sent, answer);
          if (!isPlain) expectPrice(sent.json.extensions.rateLimit.cost, price, sent.about);
          expect(answer.entries, sent.about).toBeLessThanOrEqual(100 * price);
          seen[answer.nulls.length > 0 ? 'failed' : 'answered']++;
          units[time] = price;
          texts[time] = JSON.stringify(sent.json.data);
        }
        // Yoga executes a QUERY and writes its answer.
        const other = await post(gateway, request(0), {}, gateway.key, 'QUERY');
        if (units[0] !== undefined) expect(JSON.stringify(other.json.data), other.about).toBe(texts[0]);
        const all = Array.from({ length: TIMES }, (_, time) => request(time));
        const batch = await post(gateway, all);
        const sum = units[0] !== undefined && units[1] !== undefined ? units[0] + units[1] : 99;
        if (sum <= 50) {
          const [first] = batch.json;
          expectPrice(first.extensions.rateLimit.cost, sum, batch.about, units.includes(0));
          if (!text.includes('rateLimit'))
            expect(
              batch.json.map(({ data }: { data: unknown }) => JSON.stringify(data)),
              batch.about,
            ).toEqual(texts);
        }
        if (units[0] === undefined) return;
        const { key, scopes } = keys[seen.answered % keys.length]!;
        const needed = scopesOf(operation.selection, 'Query');
        const missing = [...needed].filter((scope) => !isHeld(scopes, scope));
        const limited = await post(gateway, request(0), {}, key);
        if (missing.length > 0) {
          seen.forbidden++;
          expectQueryRefusal(limited, 'FORBIDDEN');
          const named = /scopes? (.*)\.$/.exec(limited.json.errors[0].message)?.[1]?.split(', ');
          expect(named?.sort(), limited.about).toEqual(missing.sort());
        }
        const reduced = { ...operation, selection: permitted(operation.selection, 'Query', scopes) };
        const rest = written(reduced);
        const values = Object.fromEntries(rest.variables.map(({ name, values }) => [name, values[0]]));
        const part = await post(gateway, { query: rest.text, variables: values }, {}, key);
        if (isRefused(part, reduced, 0)) return;
        seen.reduced++;
        expectAnswer(part, new Teller(client.model, 0, priceOf(reduced, 0), scopes).answer(reduced));
      }),
      { numRuns: runs, endOnFailure: true },
    );
    if (runs > 100) for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
    expect(seen.answered + seen.failed).toBeGreaterThan(runs);
  }, 600_000);

  it('cost what the model says, however large they are', async () => {
    const large = Object.assign(newClient([1, 30, 100]), { model: client.model });
    await fc.assert(
      fc.asyncProperty(fc.gen(), async (g) => {
        const writer = new Writer(g, large);
        const { type, selection } = writer.operation('Query');
        const operation = { type, selection: [...selection, writer.pages()] };
        const { text, variables } = written(operation);
        for (const time of [0, 1, 0]) {
          kit.clock.advance(1_000);
          const values = Object.fromEntries(variables.map(({ name, values }) => [name, values[time]]));
          const body = { query: text, variables: values };
          const sent = await send(gateway, 'POST /graphql/cost', { key: gateway.key, body });
          if (!isRefused(sent, operation, time))
            expectPrice(sent.json.cost, priceOf(operation, time), sent.about);
        }
      }),
      { numRuns: isSqlite ? cases(50, 1_000) : 1, endOnFailure: true },
    );
  });

  const sequence = (g: fc.GeneratorValue, of: Client, length: number) =>
    Array.from({ length }, () => () => of.mutate(new Writer(g, of).operation('Mutation')));

  it('of mutations show what each field left, and leave nothing of what fails, events included', async () => {
    await fc.assert(
      fc.asyncProperty(fc.gen(), async (g) => {
        kit.clock.advance(1_000);
        await runAll(sequence(g, client, 8));
        await client.check();
      }),
      { numRuns: isSqlite ? cases(12, 60) : cases(2, 6), endOnFailure: true },
    );
    if (!isSqlite) return;
    const types: string[] = [];
    for (let after = ''; ; ) {
      const text = `{ events(first: 100${after && `, after: "${after}"`}) { nodes { type } pageInfo { endCursor hasNextPage } } }`;
      const { nodes, pageInfo } = (await post(gateway, { query: text })).json.data.events;
      types.push(...nodes.map(({ type }: { type: string }) => type));
      if (!pageInfo.hasNextPage) break;
      after = pageInfo.endCursor;
    }
    expect(types).toEqual(client.model.events.map(({ type }) => type));
  }, 600_000);

  it('of mutations do not disturb each other, nor show readers what is not committed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.gen(), async (g) => {
        kit.clock.advance(1_000);
        const pair = [newClient([1, 2, 3]), newClient([1, 2, 3])] as const;
        for (const each of pair) await each.begin(3);
        const [own, other] = pair.map((each) => sequence(g, each, 8));
        const end = watch(pair[0], gateway);
        await Promise.all([runAll(own!), runAll(other!)]);
        await end();
        for (const each of pair) await each.check();
      }),
      { numRuns: isSqlite ? cases(4, 20) : cases(1, 3), endOnFailure: true },
    );
  }, 600_000);
});

async function runAll(steps: readonly (() => Promise<void>)[]): Promise<void> {
  for (const next of steps) await next();
}

/**
 * Reads lists as others do while a client writes.
 *
 * @returns ends the reading, and expects each list to be one that a mutation had left
 */
function watch(client: Client, gateway: TestGateway): () => Promise<void> {
  let isDone = false;
  const [id] = [...client.model.categories.keys()] as [string];
  const left = new Set<string>();
  const seen: string[] = [];
  client.onChange = () =>
    left.add(JSON.stringify(client.model.petsIn(id).map(({ name, status }) => ({ name, status }))));
  client.onChange();
  const reading = (async () => {
    while (!isDone) {
      const query = `{ category(id: ${id}) { pets(first: 100) { nodes { name status } } } }`;
      const { json } = await post(gateway, { query });
      if (json.data.category) seen.push(JSON.stringify(json.data.category.pets.nodes));
    }
  })();
  return async () => {
    isDone = true;
    await reading;
    for (const pets of seen) expect([...left]).toContain(pets);
  };
}

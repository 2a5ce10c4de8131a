import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Category as CategoryRecord } from '../../src/domains/category/category.ts';
import { Order as OrderRecord } from '../../src/domains/order/order.ts';
import { Pet as PetRecord } from '../../src/domains/pet/pet.ts';
import { cases } from '../kit/cases.ts';
import { type Kit, onEachEngine, query } from '../kit/petstore.ts';

/**
 * Random mutations against a model that does one field after the other on plain objects. What a field shows
 * must be the state that it and those before it left, and what fails must leave nothing.
 */

interface Category {
  id: string;
  name: string;
}
interface Pet {
  id: string;
  name: string;
  categoryId: string;
  status: string;
  quantity: number;
}
interface Order {
  id: string;
  petId: string | null;
  complete: boolean;
}

type Kind = 'Category' | 'Pet' | 'Order' | 'InventoryItem';

/** A selected field: its value in the model, and what is selected below it. */
interface Selected {
  name: string;
  args: string;
  /** Rendered, but taken out by a directive. */
  isSkipped: boolean;
  wrapper: 'none' | 'inline' | 'fragment' | 'include' | 'variable';
  below: readonly Selected[];
  first: number;
}

interface RootField {
  name: string;
  input: Record<string, unknown>;
  /** Chooses the record to write. */
  target: number;
  isSkipped: boolean;
  wrapper: Selected['wrapper'];
  below: readonly Selected[];
}

class Refusal extends Error {}

class Model {
  categories = new Map<string, Category>();
  pets = new Map<string, Pet>();
  orders = new Map<string, Order>();
  events: string[] = [];

  copy(): Model {
    const model = new Model();
    model.categories = structuredClone(this.categories);
    model.pets = structuredClone(this.pets);
    model.orders = structuredClone(this.orders);
    model.events = [...this.events];
    return model;
  }

  petsIn(categoryId: string): Pet[] {
    return [...this.pets.values()].filter((pet) => pet.categoryId === categoryId).sort(byId);
  }

  ordersOf(petId: string): Order[] {
    return [...this.orders.values()].filter((order) => order.petId === petId).sort(byId);
  }
}

const byId = (a: { id: string }, b: { id: string }): number => (BigInt(a.id) < BigInt(b.id) ? -1 : 1);

const found = <T>(records: Map<string, T>, id: string): T => {
  const record = records.get(id);
  if (!record) throw new Refusal('NOT_FOUND');
  return record;
};

const reference = <T>(records: Map<string, T>, id: unknown): void => {
  if (id != null && !records.has(String(id))) throw new Refusal('UNKNOWN_REFERENCE');
};

/** Applies a patch and logs the event if anything changes. */
function update(model: Model, record: object, patch: object, type: string): void {
  const before = JSON.stringify(record);
  for (const [name, value] of Object.entries(patch))
    if (value !== undefined) Object.assign(record, { [name]: value });
  if (JSON.stringify(record) !== before) model.events.push(type);
}

/** Does what a root field does. @returns its record, or the id that it deleted */
function perform(model: Model, { name, input }: RootField, id: string, assigned: string): object | string {
  switch (name) {
    case 'createCategory': {
      const category = { id: assigned, name: String(input.name) };
      model.categories.set(category.id, category);
      model.events.push('category_created');
      return category;
    }
    case 'updateCategory': {
      const category = found(model.categories, id);
      update(model, category, input, 'category_updated');
      return category;
    }
    case 'deleteCategory': {
      found(model.categories, id);
      if (model.petsIn(id).length > 0) throw new Refusal('CONFLICT');
      model.categories.delete(id);
      model.events.push('category_deleted');
      return id;
    }
    case 'createPet': {
      reference(model.categories, input.categoryId);
      const { name, categoryId } = input as { name: string; categoryId: string };
      const pet = { id: assigned, name, categoryId, status: 'available', quantity: 0 };
      model.pets.set(pet.id, pet);
      model.events.push('pet_created');
      return pet;
    }
    case 'updatePet': {
      const pet = found(model.pets, id);
      reference(model.categories, input.categoryId);
      update(model, pet, input, 'pet_updated');
      return pet;
    }
    case 'updateInventory': {
      const pet = found(model.pets, id);
      update(model, pet, input, 'inventory_updated');
      return pet;
    }
    case 'deletePet': {
      found(model.pets, id);
      if (model.ordersOf(id).some(({ complete }) => !complete)) throw new Refusal('CONFLICT');
      model.pets.delete(id);
      model.events.push('pet_deleted');
      return id;
    }
    case 'createOrder': {
      reference(model.pets, input.petId);
      if (input.id !== undefined && model.orders.has(String(input.id))) throw new Refusal('CONFLICT');
      const order = {
        id: input.id === undefined ? assigned : String(input.id),
        petId: (input.petId as string | undefined) ?? null,
        complete: input.complete === true,
      };
      model.orders.set(order.id, order);
      model.events.push('order_created');
      return order;
    }
    case 'updateOrder': {
      const order = found(model.orders, id);
      const next = { ...order, ...input } as Order;
      if (next.petId !== order.petId || !next.complete) reference(model.pets, next.petId);
      update(model, order, input, 'order_updated');
      return order;
    }
    default: {
      found(model.orders, id);
      model.orders.delete(id);
      model.events.push('order_deleted');
      return id;
    }
  }
}

/** What a selection shows of a record in the current state. */
function show(model: Model, kind: Kind, record: object, selection: readonly Selected[]): object {
  const shown: Record<string, unknown> = { own: (record as { id: string }).id };
  for (const [n, field] of selection.entries())
    if (!field.isSkipped) shown[`k${n}`] = shownValue(model, kind, record, field);
  return shown;
}

function shownValue(model: Model, kind: Kind, record: object, { name, below, first }: Selected): unknown {
  const pet = record as Pet;
  const list = (kind: Kind, all: object[]) => ({
    totalCount: all.length,
    nodes: all.slice(0, first).map((one) => show(model, kind, one, below)),
  });
  switch (name) {
    case 'category':
      return show(model, 'Category', model.categories.get(pet.categoryId)!, below);
    case 'inventory':
      return show(model, 'InventoryItem', pet, below);
    case 'orders':
      return list('Order', model.ordersOf(pet.id));
    case 'pets':
      return list('Pet', model.petsIn((record as Category).id));
    case 'pet': {
      if (kind === 'InventoryItem') return show(model, 'Pet', pet, below);
      const { petId } = record as Order;
      const other = petId === null ? undefined : model.pets.get(petId);
      return other ? show(model, 'Pet', other, below) : null;
    }
    case '__typename':
      return kind;
    default:
      return (record as Record<string, unknown>)[name];
  }
}

const LEAVES: Record<Kind, readonly string[]> = {
  Category: ['id', 'name', '__typename'],
  Pet: ['id', 'name', 'status', 'categoryId'],
  Order: ['id', 'petId', 'complete', '__typename'],
  InventoryItem: ['id', 'quantity', 'status'],
};

const BRANCHES: Record<Kind, readonly (readonly [name: string, kind: Kind])[]> = {
  Category: [['pets', 'Pet']],
  Pet: [
    ['category', 'Category'],
    ['inventory', 'InventoryItem'],
    ['orders', 'Order'],
  ],
  Order: [['pet', 'Pet']],
  InventoryItem: [['pet', 'Pet']],
};

const wrappers = fc.constantFrom<Selected['wrapper'][]>(
  'none',
  'none',
  'none',
  'inline',
  'fragment',
  'include',
  'variable',
);
/** Seldom. */
const skipped = fc.nat(9).map((n) => n === 0);

const selections = (kind: Kind, depth: number): fc.Arbitrary<Selected[]> => {
  const common = { isSkipped: skipped, wrapper: wrappers, first: fc.integer({ min: 1, max: 3 }) };
  const leaf = fc.record({
    name: fc.constantFrom(...LEAVES[kind]),
    below: fc.constant<readonly Selected[]>([]),
    ...common,
  });
  const branches = (depth > 1 ? BRANCHES[kind] : []).map(([name, below]) =>
    fc.record({ name: fc.constant(name), below: selections(below, depth - 1), ...common }),
  );
  return fc.array(fc.oneof(leaf, ...branches), { minLength: 1, maxLength: 3 }).map((fields) =>
    fields.map((field) => ({
      ...field,
      args: field.name === 'orders' || field.name === 'pets' ? `(first: ${field.first})` : '',
    })),
  );
};

const RECORDS: Record<string, Kind> = {
  createCategory: 'Category',
  updateCategory: 'Category',
  createPet: 'Pet',
  updatePet: 'Pet',
  updateInventory: 'InventoryItem',
  createOrder: 'Order',
  updateOrder: 'Order',
};

const names = fc.constantFrom('Rex', 'Bella', 'Oscar', 'Luna');
/** Chooses a record: mostly one that exists. */
const targets = fc.nat(99);

const INPUTS: Record<string, fc.Arbitrary<Record<string, unknown>>> = {
  createCategory: fc.record({ name: names }),
  updateCategory: fc.record({ name: names }),
  deleteCategory: fc.constant({}),
  createPet: fc.record({ name: names, categoryId: targets }),
  updatePet: fc.record(
    { name: names, status: fc.constantFrom('pending', 'sold'), categoryId: targets },
    { requiredKeys: [] },
  ),
  deletePet: fc.constant({}),
  updateInventory: fc.record({ quantity: fc.nat(3) }),
  createOrder: fc.record({ id: fc.nat(4), petId: targets, complete: fc.boolean() }, { requiredKeys: [] }),
  updateOrder: fc.record({ petId: targets, complete: fc.boolean() }, { requiredKeys: [] }),
  deleteOrder: fc.constant({}),
};

const rootFields: fc.Arbitrary<RootField> = fc.oneof(
  ...Object.entries(INPUTS).map(([name, input]) =>
    fc.record({
      name: fc.constant(name),
      input,
      target: targets,
      isSkipped: skipped,
      wrapper: wrappers,
      below: RECORDS[name] ? selections(RECORDS[name], 3) : fc.constant<readonly Selected[]>([]),
    }),
  ),
);

const mutations = fc.array(rootFields, { minLength: 1, maxLength: 4 });

/** Renders a mutation, with the fragments that it uses. */
class Text {
  readonly fragments: string[] = [];

  wrapped(
    text: string,
    kind: string,
    { wrapper, isSkipped }: Pick<Selected, 'wrapper' | 'isSkipped'>,
    to: string,
  ): string {
    if (isSkipped) return `${text} @skip(if: $yes)${to}`;
    switch (wrapper) {
      case 'inline':
        return `... on ${kind} { ${text}${to} }`;
      case 'fragment':
        this.fragments.push(`fragment F${this.fragments.length} on ${kind} { ${text}${to} }`);
        return `...F${this.fragments.length - 1}`;
      case 'include':
        return `${text} @include(if: true)${to}`;
      case 'variable':
        return `... @include(if: $yes) { ${text}${to} }`;
      default:
        return `${text}${to}`;
    }
  }

  selection(kind: Kind, fields: readonly Selected[]): string {
    const parts = fields.map((field, n) => {
      const branch = BRANCHES[kind].find(([name]) => name === field.name);
      const own = branch ? this.selection(branch[1], field.below) : '';
      const isList = field.name === 'orders' || field.name === 'pets';
      const to = isList ? ` { totalCount nodes ${own} }` : own && ` ${own}`;
      return this.wrapped(`k${n}: ${field.name}${field.args}`, kind, field, to);
    });
    // The model learns assigned ids from it.
    return `{ own: id ${parts.join(' ')} }`;
  }
}

/** What a client knows and does. Ids that it chooses are its own. */
class Client {
  model = new Model();
  readonly #kit: Kit;
  readonly #base: bigint;
  /** Called when a mutation has changed the model. */
  #left = () => {};

  constructor(kit: Kit, base: bigint) {
    this.#kit = kit;
    this.#base = base;
  }

  /** Creates a few records. */
  async begin(): Promise<void> {
    const { store } = this.#kit.gateway;
    const { categories, pets, orders } = this.model;
    for (const name of ['Dogs', 'Cats']) {
      const category = await store.table(CategoryRecord).insert({ name });
      categories.set(category.id, { ...category });
      for (const name of ['Rex', 'Bella']) {
        const pet = await store
          .table(PetRecord)
          .insert({ name, categoryId: category.id, status: 'available' });
        pets.set(pet.id, { ...pet });
        const order = await store.table(OrderRecord).insert({ petId: pet.id, complete: name === 'Rex' });
        orders.set(order.id, { id: order.id, petId: pet.id, complete: name === 'Rex' });
      }
    }
  }

  /** The id that a number stands for: one of the records, or now and then one that does not exist. */
  #idOf(records: Map<string, unknown>, n: number): string {
    const ids = [...records.keys()];
    return ids.length === 0 || n >= 92 ? String(this.#base - 1n) : ids[n % ids.length]!;
  }

  #withIds({ name, input, target, ...field }: RootField) {
    const own = { ...input };
    const { categories, pets, orders } = this.model;
    if (typeof own.categoryId === 'number') own.categoryId = this.#idOf(categories, own.categoryId);
    if (typeof own.petId === 'number') own.petId = this.#idOf(pets, own.petId);
    if (typeof own.id === 'number') own.id = String(this.#base + BigInt(own.id));
    const kind = /Category$/.test(name) ? categories : /Order$/.test(name) ? orders : pets;
    return { ...field, name, target, input: own, id: this.#idOf(kind, target) };
  }

  async send(fields: readonly RootField[]): Promise<void> {
    const given = fields.map((field) => this.#withIds(field));
    const text = new Text();
    const roots = given.map((field, n) => {
      const { name, input, id } = field;
      const values = Object.entries(input).map(([key, value]) => `${key}: ${literal(key, value)}`);
      const target = name === 'updateInventory' ? `petId: ${id}` : `id: ${id}`;
      const args = [
        ...(name.startsWith('create') ? [] : [target]),
        ...(name.startsWith('delete') ? [] : [`input: {${values}}`]),
      ];
      const kind = RECORDS[name];
      const below = kind ? ` ${text.selection(kind, field.below)}` : '';
      return text.wrapped(`f${n}: ${name}(${args.join(', ')})`, 'Mutation', field, below);
    });
    const document = `mutation ($yes: Boolean! = true) { first: __typename @include(if: $yes) ${roots.join(' ')} } ${text.fragments.join(' ')}`;
    const sent = await query(this.#kit.gateway, document);
    expect(sent.status, sent.about).toBe(200);

    const next = this.model.copy();
    const data: Record<string, unknown> = { first: 'Mutation' };
    for (const [n, field] of given.entries()) {
      if (field.isSkipped) continue;
      try {
        // An id that is only known from the response, if there is one.
        const assigned = sent.json.data?.[`f${n}`]?.own ?? `${this.#base * 10n + BigInt(n)}`;
        const record = perform(next, field, field.id, assigned);
        const kind = RECORDS[field.name];
        data[`f${n}`] = typeof record === 'string' ? record : show(next, kind!, record, field.below);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        expect(sent.json.data, sent.about).toBeNull();
        expect(sent.json.errors, sent.about).toHaveLength(1);
        expect(sent.json.errors[0], sent.about).toMatchObject({
          path: [`f${n}`],
          extensions: { code: error.message },
        });
        return;
      }
    }
    expect(sent.json, sent.about).toEqual({ data });
    this.model = next;
    this.#left();
  }

  /**
   * Reads lists as others do while this client writes.
   *
   * @returns ends the reading, and checks that each list was one that a mutation had left
   */
  watch(): () => Promise<void> {
    let isDone = false;
    const left = new Map([...this.model.categories.keys()].map((id) => [id, new Set<string>()]));
    const seen: [category: string, pets: string][] = [];
    this.#left = () => {
      for (const [id, lists] of left)
        lists.add(JSON.stringify(this.model.petsIn(id).map(({ name, status }) => ({ name, status }))));
    };
    this.#left();
    const reading = (async () => {
      while (!isDone) {
        for (const id of left.keys()) {
          const text = `{ category(id: ${id}) { pets(first: 100) { nodes { name status } } } }`;
          const { json } = await query(this.#kit.gateway, text);
          if (json.data.category) seen.push([id, JSON.stringify(json.data.category.pets.nodes)]);
        }
      }
    })();
    return async () => {
      isDone = true;
      await reading;
      for (const [id, pets] of seen) expect([...left.get(id)!]).toContain(pets);
    };
  }

  /** Compares everything stored with the model. */
  async check(): Promise<void> {
    const { categories, pets, orders } = this.model;
    const fields = [
      ...[...categories.keys()].map(
        (id, n) =>
          `c${n}: category(id: ${id}) { name pets { nodes { id name status categoryId inventory { quantity } } } }`,
      ),
      ...[...orders.keys()].map((id, n) => `o${n}: order(id: ${id}) { petId complete }`),
    ];
    if (fields.length === 0) return;
    const { json } = await query(this.#kit.gateway, `{ ${fields.join(' ')} }`);
    const expected = Object.fromEntries([
      ...[...categories.values()].map(({ id, name }, n) => [
        `c${n}`,
        {
          name,
          pets: {
            nodes: this.model.petsIn(id).map(({ quantity, ...pet }) => ({ ...pet, inventory: { quantity } })),
          },
        },
      ]),
      ...[...orders.values()].map(({ petId, complete }, n) => [`o${n}`, { petId, complete }]),
    ]);
    expect(json).toEqual({ data: expected });
    expect(pets.size).toBe([...categories.keys()].reduce((sum, id) => sum + this.model.petsIn(id).length, 0));
  }
}

const literal = (key: string, value: unknown): string =>
  key === 'name' ? JSON.stringify(value) : String(value);

onEachEngine('random mutations', (kit, engine) => {
  const runs = engine.name === 'sqlite' ? Number(process.env.MODEL_RUNS ?? cases(10, 25)) : cases(2, 3);
  let clients = 0n;
  const newClient = () => new Client(kit, 10n ** 12n * ++clients);

  const eventTypes = async (): Promise<string[]> => {
    const types: string[] = [];
    for (let after = ''; ; ) {
      const { json } = await query(
        kit.gateway,
        `{ events(first: 100${after && `, after: "${after}"`}) { nodes { type } pageInfo { endCursor hasNextPage } } }`,
      );
      types.push(...json.data.events.nodes.map(({ type }: { type: string }) => type));
      if (!json.data.events.pageInfo.hasNextPage) return types;
      after = json.data.events.pageInfo.endCursor;
    }
  };

  it('show what each field left, and leave nothing of what fails, events included', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(mutations, { minLength: 8, maxLength: 12 }), async (sequence) => {
        const client = newClient();
        await client.begin();
        const before = engine.name === 'sqlite' ? await eventTypes() : [];
        for (const fields of sequence) await client.send(fields);
        await client.check();
        if (engine.name === 'sqlite')
          expect((await eventTypes()).slice(before.length)).toEqual(client.model.events);
      }),
      { numRuns: runs },
    );
  }, 120_000);

  it('do not disturb those of another client that runs at the same time, nor show readers what is not committed', async () => {
    const sequences = fc.array(mutations, { minLength: 8, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sequences, sequences, async (...both) => {
        const pair = both.map((sequence) => ({ client: newClient(), sequence }));
        await Promise.all(
          pair.map(async ({ client, sequence }, i) => {
            await client.begin();
            const end = i === 0 ? client.watch() : undefined;
            for (const fields of sequence) await client.send(fields);
            await end?.();
          }),
        );
        for (const { client } of pair) await client.check();
      }),
      { numRuns: Math.ceil(runs / 2) },
    );
  }, 120_000);
});

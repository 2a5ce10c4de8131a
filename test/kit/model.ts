import {
  type Directives,
  FIELDS,
  type Field,
  fieldOf,
  meaning,
  NODES,
  type Operation,
  type Selection,
  type Spread,
  UNREADABLE,
} from './documents.ts';

/**
 * What operations must answer, cost and need, told from their trees and docs/interface.md alone: plain objects for
 * records, and none of the product's code, nor graphql-js.
 */

interface Category {
  id: string;
  name: string;
  description: string | null;
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
  quantity: number | null;
  shipDate: string | null;
  complete: boolean;
}
interface Event {
  type: string;
  id: string;
}

/** A record in an answer, with its type where that cannot be seen otherwise. */
type Shown = Record<string, unknown>;
type Arguments = Readonly<Record<string, unknown>>;

/** Matches any text: ids that the gateway chooses and cursors whose form is its own. */
export const ANY = Symbol('any text');

/** Why a write is refused. */
class Refusal extends Error {}
/** Ends the reading of a field that cannot be read. */
class Failure extends Error {}

const byId = (a: { id: string }, b: { id: string }): number => (BigInt(a.id) < BigInt(b.id) ? -1 : 1);

export class Model {
  categories = new Map<string, Category>();
  pets = new Map<string, Pet>();
  orders = new Map<string, Order>();
  events: Event[] = [];

  copy(): Model {
    return Object.assign(new Model(), structuredClone({ ...this }));
  }

  /** All records of a type, by id. */
  all(type: string): Map<string, Category | Pet | Order> {
    return type === 'Category' ? this.categories : type === 'Order' ? this.orders : this.pets;
  }

  log(type: string, id: string): void {
    this.events.push({ type, id });
  }

  petsIn(categoryId: string): Pet[] {
    return [...this.pets.values()].filter((pet) => pet.categoryId === categoryId).sort(byId);
  }

  ordersOf(petId: string): Order[] {
    return [...this.orders.values()].filter((order) => order.petId === petId).sort(byId);
  }
}

/** @throws Refusal */
function found<T>(records: Map<string, T>, id: unknown, code = 'NOT_FOUND'): T {
  const record = records.get(String(id));
  if (!record) throw new Refusal(code);
  return record;
}

/** Does what the root field of a mutation does. @returns its record, or the id that it deleted */
function perform(model: Model, name: string, args: Arguments, assigned: string): object | string {
  const [, verb, type] = /^([a-z]+)(.*)$/.exec(name)!;
  const kind = type!.toLowerCase();
  const records = model.all(type!) as Map<string, object> as Map<string, Shown>;
  const id = String(args.id ?? args.petId);
  const record = verb === 'create' ? undefined : found(records, id);
  if (verb === 'delete') {
    const children = type === 'Category' ? model.petsIn(id) : type === 'Pet' ? model.ordersOf(id) : [];
    if (children.some((child) => !('complete' in child) || !child.complete)) throw new Refusal('CONFLICT');
    records.delete(id);
    model.log(`${kind}_deleted`, id);
    return id;
  }
  const input = { ...(args.input as Shown) };
  for (const name of ['id', 'categoryId', 'petId'])
    if (input[name] != null) input[name] = String(input[name]);
  if (typeof input.name === 'string') input.name = input.name.trim();
  if (input.categoryId !== undefined) found(model.categories, input.categoryId, 'UNKNOWN_REFERENCE');
  const order = { ...record, ...input } as unknown as Order;
  const isReferring = !record || order.petId !== record.petId || !order.complete;
  if (type === 'Order' && order.petId != null && isReferring)
    found(model.pets, order.petId, 'UNKNOWN_REFERENCE');
  if (!record) {
    if (input.id !== undefined && records.has(input.id as string)) throw new Refusal('CONFLICT');
    const empty = {
      Category: { description: null },
      Pet: { status: 'available', quantity: 0 },
      Order: { petId: null, quantity: null, shipDate: null, complete: false },
    }[type!];
    const created = { id: assigned, ...empty, ...input } as Shown;
    records.set(created.id as string, created);
    model.log(`${kind}_created`, created.id as string);
    return created;
  }
  const before = JSON.stringify(record);
  Object.assign(record, input);
  if (JSON.stringify(record) !== before) model.log(`${kind}_updated`, id);
  return record;
}

/** The domain whose scope what has this type needs. */
const DOMAINS: Readonly<Record<string, string>> = {
  Pet: 'pets',
  Category: 'categories',
  Order: 'orders',
  InventoryItem: 'inventory',
  Event: 'events',
  Webhook: 'webhooks',
};
const domainOf = (type: string): string | undefined => DOMAINS[type.replace(/(Connection|Edge)$/, '')];

/** Whether a key with these scopes has one, perhaps by another that includes it. */
export const isHeld = (held: readonly string[] | undefined, scope: string): boolean =>
  held === undefined ||
  held.includes(scope) ||
  (scope.endsWith(':read') && (held.includes('*:read') || held.includes(scope.replace(/read$/, 'write'))));

/** The scope that a field or type condition needs. */
function scopeOf(part: Field | Spread, on: string): string | undefined {
  const type =
    'key' in part
      ? (part.type ?? (on === 'Mutation' ? part.name.replace('delete', '') : ''))
      : part.fragment.on;
  const domain = type && domainOf(type);
  return domain && `${domain}:${'key' in part && on === 'Mutation' ? 'write' : 'read'}`;
}

/** The scopes that a document needs, directives or not. */
export function scopesOf(selection: Selection, on: string, needed = new Set<string>()): Set<string> {
  for (const part of selection) {
    const scope = scopeOf(part, on);
    if (scope) needed.add(scope);
    if (!('key' in part)) scopesOf(part.fragment.selection, part.fragment.on ?? on, needed);
    else if (part.type) scopesOf(part.below!, part.type, needed);
  }
  return needed;
}

/** The document without what needs other scopes than these. */
export function permitted(selection: Selection, on: string, held: readonly string[], name = ''): Selection {
  const kept = selection.flatMap((part): (Field | Spread)[] => {
    const scope = scopeOf(part, on);
    if (scope && !isHeld(held, scope)) return [];
    if ('key' in part)
      return [part.type ? { ...part, below: permitted(part.below!, part.type, held, name) } : part];
    const { fragment } = part;
    const reduced = { ...fragment, selection: permitted(fragment.selection, fragment.on ?? on, held, name) };
    return [{ ...part, fragment: reduced }];
  });
  return kept.length > 0 ? kept : [TYPENAME];
}

const TYPENAME = fieldOf('__typename');

/** A field with all that is selected under its key. */
interface Merged {
  readonly field: Field;
  readonly below: Selection[];
}

/** The fields of an object of a type, in the order of the answer. */
function merged(type: string, selections: readonly Selection[], time: number): Map<string, Merged> {
  const fields = new Map<string, Merged>();
  const spread = new Set<object>();
  const isIncluded = (directives: Directives) =>
    directives.every(({ name, when }) => meaning(when, time) === (name === 'include'));
  const add = (selection: Selection): void => {
    for (const part of selection) {
      if (!isIncluded(part.directives)) continue;
      if ('key' in part) {
        const known = fields.get(part.key) ?? { field: part, below: [] };
        if (part.below) known.below.push(part.below);
        fields.set(part.key, known);
      } else if (!spread.has(part.fragment)) {
        const { on, selection } = part.fragment;
        spread.add(part.fragment);
        if (on === undefined || on === type || (on === 'Node' && NODES.includes(type))) add(selection);
      }
    }
  };
  selections.forEach(add);
  return fields;
}

const argumentsOf = ({ args }: Field, time: number): Arguments =>
  meaning({ fields: args }, time) as Arguments;

/** The most that a part of an answer can hold. */
interface Amount {
  entries: number;
  weight: number;
}

const WEIGHTS: Readonly<Record<string, number>> = {
  name: 2,
  description: 20,
  data: 20,
  nodes: 0,
  edges: 0,
  pageInfo: 0,
  // Up to 500 characters.
  'EventEdge.cursor': 5,
};
const isConnection = (type: string | undefined): boolean => type?.endsWith('Connection') === true;

/** @param rows how many objects of the type there can be, each with a page of this size if it is a connection */
function amountOf(type: string, below: readonly Selection[], time: number, rows: number, size = 0): Amount {
  const sum: Amount = { entries: 0, weight: 0 };
  const fields = merged(type, below, time);
  for (const { field, below } of fields.values()) {
    const content = contentOf(field, below, time, rows, size);
    sum.entries += content.entries;
    sum.weight += content.weight + rows * (WEIGHTS[`${type}.${field.name}`] ?? WEIGHTS[field.name] ?? 1);
  }
  const hasList = [...fields.values()].some(({ field }) => field.name === 'nodes' || field.name === 'edges');
  if (isConnection(type) && !hasList) sum.entries += rows * size;
  return sum;
}

/** What a field's value can hold, itself apart. */
function contentOf(
  field: Field,
  below: readonly Selection[],
  time: number,
  rows: number,
  size: number,
): Amount {
  if (!field.type) return { entries: 0, weight: 0 };
  const args = argumentsOf(field, time);
  const types = field.type === 'Node' ? NODES : [field.type];
  if (isConnection(field.type)) {
    const sizes = [args.first, args.last].filter((given): given is number => typeof given === 'number');
    return amountOf(field.type, below, time, rows, sizes.length > 0 ? Math.max(0, ...sizes) : 20);
  }
  const length = Array.isArray(args.nodeIds) ? args.nodeIds.length : isList(field) ? size : undefined;
  const amounts = types.map((type) => amountOf(type, below, time, rows * (length ?? 1)));
  return {
    entries: Math.max(...amounts.map(({ entries }) => entries)) + rows * (length ?? 0),
    weight: Math.max(...amounts.map(({ weight }) => weight)),
  };
}

const isList = ({ name }: Field): boolean => name === 'nodes' || name === 'edges';

/** The price of an operation in units. */
export function priceOf({ type, selection }: Operation, time: number): number {
  let units = 0;
  let free = 0;
  for (const { field, below } of merged(type, [selection], time).values()) {
    const { entries, weight } = contentOf(field, below, time, 1, 0);
    if (field.name === '__typename') free++;
    else if (field.name === 'rateLimit') free += weight;
    else units += Math.max(1, Math.ceil(entries / 100), Math.ceil(weight / 2_500));
  }
  return units + (free > 100 ? Math.ceil(free / 2_500) : 0);
}

/** The arguments of selected fields that break a rule, before anything runs. */
export function faultsOf({ type, selection }: Operation, time: number): string[] {
  const faults: string[] = [];
  const look = (type: string, selections: readonly Selection[]): void => {
    for (const { field, below } of merged(type, selections, time).values()) {
      const { first, last, after, before, sort, input } = argumentsOf(field, time);
      for (const [name, size] of [
        ['first', first],
        ['last', last],
      ])
        if (typeof size === 'number' && (size < 1 || size > 100)) faults.push(String(name));
      if (first != null && last != null) faults.push('last');
      for (const [name, place] of [
        ['after', after],
        ['before', before],
      ])
        if (place != null && (place === 'x' || (sort != null && sort !== 'id_asc')))
          faults.push(String(name));
      const { name, quantity } = (input ?? {}) as Shown;
      if (typeof name === 'string' && (name.trim() === '' || name.length > 200)) faults.push('name');
      if (typeof quantity === 'number' && quantity < 0) faults.push('quantity');
      for (const one of field.type === 'Node' ? NODES : field.type ? [field.type] : []) look(one, below);
    }
  };
  look(type, [selection]);
  return faults;
}

/** What an operation answers. */
export interface Answer {
  data: Shown | null;
  /** The paths of what is null because of an error, and the codes of these errors. */
  nulls: string[];
  code?: string;
  /** The root field of a mutation that failed. */
  at?: string;
  /** What a mutation leaves. */
  model: Model;
  entries: number;
}

/** Tells the answer to an operation. */
export class Teller {
  #model: Model;
  readonly #time: number;
  readonly #held: readonly string[] | undefined;
  readonly #units: number;
  #nulls: string[] = [];
  entries = 0;

  /** @param held the scopes of the key */
  constructor(model: Model, time: number, units: number, held?: readonly string[]) {
    this.#model = model;
    this.#time = time;
    this.#units = units;
    this.#held = held;
  }

  /** @param assigned the ids of created records, by response key */
  answer({ type, selection }: Operation, assigned: (key: string) => string = () => ''): Answer {
    const before = this.#model;
    const fields = merged(type, [selection], this.#time);
    const writes = [...fields.values()].filter(({ field }) => field.name !== '__typename').length;
    if (type === 'Mutation') this.#model = before.copy();
    const data: Shown = {};
    let current = '';
    let isWritten = false;
    try {
      for (const [key, { field, below }] of fields) {
        current = key;
        isWritten = false;
        const of =
          type === 'Mutation' && field !== TYPENAME && field.name !== '__typename'
            ? perform(this.#model, field.name, argumentsOf(field, this.#time), assigned(key))
            : undefined;
        isWritten = of !== undefined;
        const value =
          typeof of === 'string'
            ? of
            : of
              ? this.#show(field.type!, of, below, [key])
              : this.#value(type, {}, field, below, [key]);
        define(data, key, value);
        if (type === 'Mutation' && writes > 1 && this.#nulls.length > 0) break;
      }
    } catch (error) {
      const isRefused = error instanceof Refusal;
      if (!isRefused && !(error instanceof Failure)) throw error;
      const model = isWritten && writes === 1 ? this.#model : before;
      return {
        data: null,
        nulls: [''],
        code: isRefused ? error.message : 'CONFLICT',
        model,
        entries: 0,
        at: current,
      };
    }
    // What failed below a mutation of several fields takes all of it back.
    const isUndone = this.#nulls.length > 0 && type === 'Mutation' && writes > 1;
    return isUndone
      ? { data: null, nulls: [''], model: before, entries: 0 }
      : { data, nulls: this.#nulls, model: this.#model, entries: this.entries };
  }

  #show(type: string, of: object, below: readonly Selection[], path: (string | number)[]): Shown {
    const shown: Shown = {};
    for (const [key, { field, below: inner }] of merged(type, below, this.#time))
      define(shown, key, this.#value(type, of as Shown, field, inner, [...path, key]));
    return shown;
  }

  #value(
    type: string,
    of: Shown,
    field: Field,
    below: readonly Selection[],
    path: (string | number)[],
  ): unknown {
    if (field.name === '__typename') return type;
    const value = () => {
      const value = this.#resolve(type, of, field);
      if (!field.type || value == null) return value ?? null;
      if (!Array.isArray(value)) return this.#object(field.type, value as Shown, below, path);
      this.entries += value.length;
      return value.map((item, n) =>
        field.name === 'nodes' && type === 'Query'
          ? this.#orNull(() => item && this.#object('Node', item, below, [...path, n]), [...path, n])
          : this.#object(field.type!, item, below, [...path, n]),
      );
    };
    return FIELDS[type]![field.name]!.isNullable ? this.#orNull(value, path) : value();
  }

  #orNull(read: () => unknown, path: (string | number)[]): unknown {
    const before = this.#nulls.length;
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#nulls.splice(before, Number.POSITIVE_INFINITY, path.join('.'));
      return null;
    }
  }

  #object(type: string, value: Shown, below: readonly Selection[], path: (string | number)[]): Shown {
    return this.#show(
      type === 'Node' ? String(value.type) : type,
      type === 'Node' ? (value.of as Shown) : value,
      below,
      path,
    );
  }

  #mayRead(type: string): boolean {
    return isHeld(this.#held, `${domainOf(type)}:read`);
  }

  #node(nodeId: unknown): Shown | null {
    const [, type = '', id] = /^(\w+):(\d+)$/.exec(Buffer.from(String(nodeId), 'base64url').toString()) ?? [];
    const of = NODES.includes(type) && this.#mayRead(type) ? this.#model.all(type).get(id!) : undefined;
    return of ? { type, of } : null;
  }

  #resolve(type: string, of: Shown, field: Field): unknown {
    const { name } = field;
    const args = argumentsOf(field, this.#time);
    const model = this.#model;
    const byId = (type: string, id: unknown) => model.all(type).get(String(id)) ?? null;
    switch (`${type === 'Query' || type === 'Event' ? type : ''}.${name}`) {
      case 'Query.pet':
      case 'Query.category':
      case 'Query.order':
      case 'Query.inventoryItem':
        return byId(field.type!, args.id ?? args.petId);
      case 'Query.node':
        return this.#node(args.nodeId);
      case 'Query.nodes':
        return (args.nodeIds as unknown[]).map((nodeId) => this.#node(nodeId));
      case 'Query.pets':
      case 'Query.categories':
      case 'Query.orders':
      case 'Query.inventory':
        return this.#page([...model.all(field.type!.replace('Connection', '')).values()], args);
      case 'Query.events': {
        const types = args.types as string[] | undefined;
        const mayRead = ({ type }: Event) =>
          this.#mayRead(NODES.find((node) => DOMAINS[node]!.startsWith(type.slice(0, 3)))!);
        const events = model.events.filter(
          (event) => mayRead(event) && (types?.includes(event.type) ?? true),
        );
        return connectionOf(events.slice(0, (args.first as number | undefined) ?? 20), () => ANY);
      }
      case 'Query.rateLimit':
        return { plan: 'enterprise', cost: this.#units, minute: { limit: 1_000_000 } };
      case 'Query.apiKey':
        return { plan: 'enterprise' };
      case 'Query.webhook':
        return null;
      case 'Event.type':
        return of.type;
      case 'Event.pet':
      case 'Event.category':
      case 'Event.order':
      case 'Event.inventoryItem':
        return String(of.type).startsWith(name.slice(0, 9).toLowerCase().replace('item', ''))
          ? byId(field.type!, of.id)
          : null;
      case 'Event.id':
      case 'Event.time':
      case 'Event.data':
        return ANY;
      case '.nodeId':
        return Buffer.from(`${type}:${of.id}`).toString('base64url');
      case '.category':
        return byId('Category', of.categoryId);
      case '.inventory':
        return of;
      case '.petId':
        return type === 'InventoryItem' ? of.id : of.petId;
      case '.pet':
        return type === 'InventoryItem' ? of : byId('Pet', of.petId);
      case '.orders':
      case '.pets': {
        const parent = name === 'pets' ? 'categoryId' : 'petId';
        const wanted = (args.filter as Shown | null | undefined)?.[parent] ?? of.id;
        // The children of another parent are not read.
        if ((args.last ?? args.first) === UNREADABLE && String(wanted) === of.id) throw new Failure();
        return this.#page(
          name === 'pets' ? model.petsIn(of.id as string) : model.ordersOf(of.id as string),
          args,
        );
      }
      default:
        return of[name];
    }
  }

  /** A page of a list (Relay cursor connections). */
  #page(all: readonly object[], { first, last, after, before, filter, sort }: Arguments): Shown {
    const wanted = Object.entries((filter ?? {}) as Shown).filter(([, value]) => value != null);
    const list = (all as Shown[])
      .filter((record) =>
        wanted.every(([name, value]) =>
          name === 'status'
            ? [value].flat().includes(record.status)
            : String(record[name] ?? null) === String(value),
        ),
      )
      .sort(orderOf(sort as string | null | undefined));
    const isBefore = ({ id }: Shown, place: unknown) => BigInt(id as string) < BigInt(place as string);
    const isAfter = ({ id }: Shown, place: unknown) => BigInt(id as string) > BigInt(place as string);
    const within = list.filter(
      (record) => (after == null || isAfter(record, after)) && (before == null || isBefore(record, before)),
    );
    const limit = (last ?? first ?? 20) as number;
    const items = last == null ? within.slice(0, limit) : within.slice(-limit);
    const hasMore = within.length > limit;
    const isById = sort == null || sort === 'id_asc';
    return {
      ...connectionOf(items, (record) => (isById ? (record as Shown).id : ANY), {
        hasNextPage:
          (last == null && hasMore) || (before != null && list.some((one) => !isBefore(one, before))),
        hasPreviousPage:
          (last != null && hasMore) || (after != null && list.some((one) => !isAfter(one, after))),
      }),
      totalCount: list.length,
    };
  }
}

function connectionOf(
  items: readonly object[],
  cursorOf: (item: object) => unknown,
  pageInfo: object = {},
): Shown {
  const [first, last] = [items[0], items.at(-1)];
  return {
    nodes: items,
    edges: items.map((node) => ({ node, cursor: cursorOf(node) })),
    pageInfo: {
      ...pageInfo,
      startCursor: first ? cursorOf(first) : null,
      endCursor: last ? cursorOf(last) : null,
    },
  };
}

const folded = (name: unknown): string =>
  String(name)
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .normalize('NFC');

/** The order of a list by its name: `id_desc`. */
function orderOf(sort: string | null | undefined): (a: Shown, b: Shown) => number {
  const [by, direction] = (sort ?? 'id_asc').split('_');
  const sign = direction === 'desc' ? -1 : 1;
  return (a, b) => {
    const [x, y] = by === 'name' ? [folded(a.name), folded(b.name)] : ['', ''];
    return sign * (x === y ? byId(a as never, b as never) : x < y ? -1 : 1);
  };
}

/** Sets a property of any name, `__proto__` too. */
const define = (object: Shown, name: string, value: unknown) =>
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });

/** Where a value differs from what is expected, the order of fields included; undefined if nowhere. */
export function differenceOf(actual: unknown, expected: unknown, path = 'data'): string | undefined {
  if (expected === ANY) return actual == null ? path : undefined;
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null)
    return actual === expected
      ? undefined
      : `${path}: ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`;
  const names = Object.keys(expected);
  if (Array.isArray(actual) !== Array.isArray(expected) || Object.keys(actual).join() !== names.join())
    return `${path}: ${Object.keys(actual)}, not ${names}`;
  for (const name of names) {
    const difference = differenceOf((actual as Shown)[name], (expected as Shown)[name], `${path}.${name}`);
    if (difference) return difference;
  }
  return undefined;
}

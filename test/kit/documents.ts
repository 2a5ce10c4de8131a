import { isDeepStrictEqual } from 'node:util';
import fc, { type GeneratorValue } from 'fast-check';

/**
 * Random GraphQL operations as trees, whose meaning a test can tell without a parser. A response key stands for one
 * field with one set of arguments wherever it occurs, so that any two selections can be merged.
 */

/** An argument, or a part of one. */
export type Value =
  | { readonly literal: unknown }
  | { readonly enum: string }
  | { readonly items: readonly Value[] }
  | { readonly fields: Readonly<Record<string, Value>> }
  | { readonly variable: Variable };

/** A variable, with one value for each time that the document is sent; undefined is none. */
export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly fallback: Value | undefined;
  readonly values: readonly unknown[];
  /** The times at which its value is refused. */
  readonly faults: readonly boolean[];
}

export type Directives = readonly { readonly name: 'skip' | 'include'; readonly when: Value }[];

export interface Field {
  readonly key: string;
  readonly name: string;
  readonly args: Readonly<Record<string, Value>>;
  readonly directives: Directives;
  /** The type of its value; undefined for a leaf. */
  readonly type: string | undefined;
  readonly below: Selection | undefined;
}

/** A field with no more than a name, apart from what is given. */
export const fieldOf = (name: string, given: Partial<Field> = {}): Field => ({
  ...{ key: name, name, args: {}, directives: [], type: undefined, below: undefined },
  ...given,
});

const pageOf = (name: string, node: string, below: Selection, given: Partial<Field>): Field =>
  fieldOf(name, { type: `${node}Connection`, below: [fieldOf('nodes', { type: node, below })], ...given });

/** Leads from a pet back to itself. */
const SIBLINGS = fieldOf('category', {
  type: 'Category',
  below: [pageOf('pets', 'Pet', [fieldOf('name'), fieldOf('status')], { key: 'siblings' })],
});

/** A named fragment, or an inline one, perhaps without a condition. */
export interface Fragment {
  readonly name?: string;
  readonly on: string | undefined;
  readonly selection: Selection;
}

export interface Spread {
  readonly fragment: Fragment;
  readonly directives: Directives;
}

export type Selection = readonly (Field | Spread)[];

export interface Operation {
  readonly type: 'Query' | 'Mutation';
  readonly selection: Selection;
}

/** How often a document is sent, each time with other values of its variables. */
export const TIMES = 2;

/** What a value stands for at one time; undefined if it is a variable without a value. */
export function meaning(value: Value, time: number): unknown {
  if ('variable' in value) {
    const { values, fallback } = value.variable;
    return values[time] === undefined && fallback ? meaning(fallback, time) : values[time];
  }
  if ('items' in value) return value.items.map((item) => meaning(item, time));
  if ('fields' in value) {
    const parts = Object.entries(value.fields).map(([name, part]) => [name, meaning(part, time)]);
    return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
  }
  return 'enum' in value ? value.enum : value.literal;
}

/** The text of a document, with the variables that it uses. */
export function written({ type, selection }: Operation): { text: string; variables: readonly Variable[] } {
  const variables = new Map<string, Variable>();
  const fragments = new Map<string, string>();
  const valueText = (value: Value): string => {
    if ('variable' in value) {
      variables.set(value.variable.name, value.variable);
      return `$${value.variable.name}`;
    }
    if ('items' in value) return `[${value.items.map(valueText).join(' ')}]`;
    if ('fields' in value)
      return `{${Object.entries(value.fields)
        .map(([name, part]) => `${name}: ${valueText(part)}`)
        .join(', ')}}`;
    return 'enum' in value ? value.enum : JSON.stringify(value.literal);
  };
  const directivesText = (directives: Directives) =>
    directives.map(({ name, when }) => ` @${name}(if: ${valueText(when)})`).join('');
  const selectionText = (parts: Selection): string => `{ ${parts.map(partText).join(' ')} }`;
  const partText = (part: Field | Spread): string => {
    const when = directivesText(part.directives);
    if ('key' in part) {
      const { key, name, args, below } = part;
      const given = Object.entries(args).map(([arg, value]) => `${arg}: ${valueText(value)}`);
      const head = `${key === name ? '' : `${key}: `}${name}${given.length > 0 ? `(${given.join(', ')})` : ''}`;
      return `${head}${when}${below ? ` ${selectionText(below)}` : ''}`;
    }
    const { name, on, selection } = part.fragment;
    if (name === undefined) return `...${on ? ` on ${on}` : ''}${when} ${selectionText(selection)}`;
    if (!fragments.has(name)) {
      fragments.set(name, '');
      fragments.set(name, `fragment ${name} on ${on} ${selectionText(selection)}`);
    }
    return `...${name}${when}`;
  };
  const body = selectionText(selection);
  const definitions = [...variables.values()].map(
    ({ name, type, fallback }) => `$${name}: ${type}${fallback ? ` = ${valueText(fallback)}` : ''}`,
  );
  const head = `${type.toLowerCase()}${definitions.length > 0 ? ` (${definitions.join(', ')})` : ''}`;
  return { text: [`${head} ${body}`, ...fragments.values()].join(' '), variables: [...variables.values()] };
}

/** A field of a type: the type of its value unless it is a leaf, and its arguments. */
export interface Known {
  readonly type?: string;
  readonly args?: readonly string[];
  readonly isNullable?: true;
  /** Whether objects of two types may have it under one key, because it has the same type in both. */
  readonly isShared?: true;
}

const PAGE = ['first', 'last', 'after', 'before', 'filter', 'sort'];
const leaf = (...names: string[]): Record<string, Known> =>
  Object.fromEntries(names.map((name) => [name, { isShared: true as const }]));
const one = (type: string): Known => ({ type, args: ['id'], isNullable: true });
const page = (node: string): Known => ({ type: `${node}Connection`, args: PAGE });
const connection = (node: string): Record<string, Record<string, Known>> => ({
  [`${node}Connection`]: {
    ...leaf('totalCount'),
    nodes: { type: node },
    edges: { type: `${node}Edge` },
    pageInfo: { type: 'PageInfo' },
  },
  [`${node}Edge`]: { ...leaf('cursor'), node: { type: node } },
});

export const NODES = ['Pet', 'Category', 'Order', 'InventoryItem'];

/** The fields that documents select. */
export const FIELDS: Readonly<Record<string, Readonly<Record<string, Known>>>> = {
  Query: {
    pet: one('Pet'),
    category: one('Category'),
    order: one('Order'),
    inventoryItem: { type: 'InventoryItem', args: ['petId'], isNullable: true },
    pets: page('Pet'),
    categories: page('Category'),
    orders: page('Order'),
    inventory: page('InventoryItem'),
    node: { type: 'Node', args: ['nodeId'], isNullable: true },
    nodes: { type: 'Node', args: ['nodeIds'] },
    events: { type: 'EventConnection', args: ['first', 'types'] },
    rateLimit: { type: 'RateLimit' },
    apiKey: { type: 'ApiKey' },
    webhook: { ...one('Webhook') },
  },
  Mutation: {
    createCategory: { type: 'Category', args: ['input'] },
    updateCategory: { type: 'Category', args: ['id', 'input'] },
    deleteCategory: { args: ['id'] },
    createPet: { type: 'Pet', args: ['input'] },
    updatePet: { type: 'Pet', args: ['id', 'input'] },
    deletePet: { args: ['id'] },
    updateInventory: { type: 'InventoryItem', args: ['petId', 'input'] },
    createOrder: { type: 'Order', args: ['input'] },
    updateOrder: { type: 'Order', args: ['id', 'input'] },
    deleteOrder: { args: ['id'] },
  },
  Node: leaf('nodeId'),
  Pet: {
    ...leaf('id', 'nodeId', 'name', 'status', 'categoryId'),
    category: { type: 'Category', isShared: true },
    inventory: { type: 'InventoryItem', isShared: true },
    orders: page('Order'),
  },
  Category: { ...leaf('id', 'nodeId', 'name', 'description'), pets: page('Pet') },
  Order: {
    ...leaf('id', 'nodeId', 'complete', 'shipDate'),
    petId: {},
    quantity: {},
    pet: { type: 'Pet', isNullable: true },
  },
  InventoryItem: { ...leaf('id', 'nodeId', 'status'), petId: {}, quantity: {}, pet: { type: 'Pet' } },
  ...connection('Pet'),
  ...connection('Category'),
  ...connection('Order'),
  ...connection('InventoryItem'),
  PageInfo: leaf('hasNextPage', 'hasPreviousPage', 'startCursor', 'endCursor'),
  EventConnection: { nodes: { type: 'Event' }, edges: { type: 'EventEdge' } },
  EventEdge: { ...leaf('cursor'), node: { type: 'Event' } },
  Event: {
    ...leaf('id', 'time', 'type', 'data'),
    pet: { type: 'Pet', isNullable: true },
    category: { type: 'Category', isNullable: true },
    order: { type: 'Order', isNullable: true },
    inventoryItem: { type: 'InventoryItem', isNullable: true },
  },
  RateLimit: { ...leaf('plan', 'cost'), minute: { type: 'RateLimitWindow' } },
  RateLimitWindow: leaf('limit'),
  ApiKey: leaf('plan'),
  Webhook: leaf('id', 'url'),
};

/** Names that are properties of every object. */
const INHERITED = ['constructor', 'toString', '__proto__', 'hasOwnProperty'];

/** A size of the pages below a parent that cannot be read, so that fields fail while an operation runs. */
export const UNREADABLE = 13;

export interface Choices {
  /** The id of a record of a type, perhaps of none. */
  idOf(type: string): string;
  /** An id for a new order. */
  newId(): string;
  readonly hasEvents: boolean;
  /** How long pages are. */
  readonly sizes: readonly number[];
}

/** Writes one operation at random. */
export class Writer {
  readonly #g: GeneratorValue;
  readonly #choices: Choices;
  readonly #fragments: Fragment[] = [];
  readonly #variables: Variable[] = [];
  readonly #fields = new Map<string, Field[]>();
  readonly #mayFail: boolean;
  readonly #inherited = [...INHERITED];
  #left: number;
  #keys = 0;

  constructor(g: GeneratorValue, choices: Choices) {
    this.#g = g;
    this.#choices = choices;
    this.#left = this.#of([4, 10, 30, 80]);
    this.#mayFail = this.#isSeldom();
  }

  operation(type: Operation['type']): Operation {
    return { type, selection: this.#selection(type, type === 'Query' ? this.#of([2, 4, 5, 6]) : 4) };
  }

  /** Pages of pages, whose sizes differ from time to time: the price of a document follows them. */
  pages(): Field {
    const page = (name: string, node: string, below: Selection) => {
      const args = { first: this.#variable('Int!', this.#choices.sizes, [null]) };
      return pageOf(name, node, below, { key: `k${this.#keys++}`, args });
    };
    return page('categories', 'Category', [page('pets', 'Pet', [fieldOf('id')])]);
  }

  #of<T>(choices: readonly T[]): T {
    return choices[this.#g(fc.nat, choices.length - 1)] as T;
  }

  #isSeldom(): boolean {
    return this.#of([true, false, false, false, false, false, false]);
  }

  #selection(type: string, depth: number): Selection {
    const parts: (Field | Spread)[] = [];
    const counts = type === 'Mutation' ? [1, 3, 4, 5] : [1, 2, 2, 3, 4];
    for (let left = this.#of(counts); left > 0 && (this.#left > 0 || parts.length === 0); left--)
      parts.push(...this.#parts(type, depth));
    return parts;
  }

  /**
   * One part; or the same fragment twice under different conditions, a list twice with different filters, or a
   * record changed twice, which reads again what it has read before.
   */
  #parts(type: string, depth: number): (Field | Spread)[] {
    const part = this.#part(type, depth);
    const key = `k${this.#keys++}`;
    if ('name' in part && part.name.startsWith('update') && this.#of([true, true, true, false])) {
      const below = part.type === 'Pet' ? [...part.below!, SIBLINGS] : part.below;
      const args = { ...part.args, input: this.#input(part.name) };
      return [part, { ...part, key, args }].map((each) => ({ ...each, below }));
    }
    if (this.#of([true, false])) return [part];
    if ('fragment' in part) return [part, { ...part, directives: this.#directives() }];
    const { filter, ...args } = part.args;
    if (!filter || !part.type || this.#left <= 0) return [part];
    const other = this.#filter(part.type.replace('Connection', ''));
    return [part, { ...part, key, args: { ...args, ...(other && { filter: other }) } }];
  }

  #part(type: string, depth: number): Field | Spread {
    this.#left--;
    const known = this.#fields.get(type) ?? [];
    const what = this.#of(['field', 'field', 'field', 'field', 'again', 'inline', 'fragment', 'spread']);
    if (what === 'again' && known.length > 0) {
      const same = this.#of(known);
      const below = same.type ? this.#below(same.type, same.name, Math.max(1, depth)) : undefined;
      return { ...same, directives: this.#directives(), below };
    }
    const fitting = this.#fragments.filter(({ on }) => isFitting(on!, type));
    if (what === 'spread' && fitting.length > 0)
      return { fragment: this.#of(fitting), directives: this.#directives() };
    if (depth > 0 && (what === 'inline' || what === 'fragment')) {
      const conditions = NODES.includes(type)
        ? ['Node', type]
        : type === 'Node'
          ? [...NODES, 'Node']
          : [type];
      const on = this.#of(conditions);
      const directives = this.#directives();
      const selection = this.#selection(on, depth - 1);
      if (what === 'inline')
        return { fragment: { on: on === type ? this.#of([on, undefined]) : on, selection }, directives };
      const fragment = { name: this.#isSeldom() ? this.#unusual('F') : `F${this.#keys++}`, on, selection };
      this.#fragments.push(fragment);
      return { fragment, directives };
    }
    return this.#field(type, depth);
  }

  /** A name that is a property of every object, once. */
  #unusual(prefix: string): string {
    return this.#inherited.pop() ?? `${prefix}_${this.#keys++}`;
  }

  #field(type: string, depth: number): Field {
    const all = Object.entries(FIELDS[type]!).filter(
      ([name, { type }]) => (depth > 0 || !type) && (name !== 'events' || this.#choices.hasEvents),
    );
    const deep = all.filter(([, { type }]) => type);
    const fields = deep.length > 0 && this.#of([true, false]) ? deep : all;
    const [name, known] = this.#isSeldom() || fields.length === 0 ? typename : this.#of(fields);
    const args = Object.fromEntries(
      (known.args ?? []).flatMap((argument) => {
        const value = this.#argument(type, name, known, argument);
        return value ? [[argument, value]] : [];
      }),
    );
    const hasAlias = known.args || !known.isShared || this.#isSeldom();
    const field = {
      key: hasAlias ? (this.#isSeldom() ? this.#unusual('k') : `k${this.#keys++}`) : name,
      name,
      args,
      directives: this.#directives(),
      type: known.type,
      below: known.type ? this.#below(known.type, name, depth) : undefined,
    };
    this.#fields.set(type, [...(this.#fields.get(type) ?? []), field]);
    return field;
  }

  #below(type: string, name: string, depth: number): Selection {
    const selection = this.#selection(type, depth - 1);
    // Who reads the answer learns the id of what was created.
    if (!name.startsWith('create')) return selection;
    return [fieldOf('id', { key: 'own' }), ...selection];
  }

  #directives(): Directives {
    if (this.#of([true, true, true, false])) return [];
    const name = this.#of(['skip', 'include'] as const);
    const when = () => (this.#isSeldom() ? { literal: this.#of([true, false]) } : this.#condition());
    const other = name === 'skip' ? ('include' as const) : ('skip' as const);
    return [{ name, when: when() }, ...(this.#isSeldom() ? [{ name: other, when: when() }] : [])];
  }

  #condition(): Value {
    const fallback = { literal: this.#of([true, false]) };
    return this.#of([
      () => this.#variable('Boolean!', [true, false], ['x', null]),
      // Null is wrong only where it is used: under a type that cannot be there it isn't (variables.test.ts).
      () => this.#variable('Boolean', [undefined, true, false], [0], fallback),
      () => this.#variable('Boolean!', [undefined, true, false], [1], fallback),
    ])();
  }

  /** @param refused values that are no valid ones */
  #variable(type: string, valid: readonly unknown[], refused: readonly unknown[], fallback?: Value): Value {
    const known = this.#variables.find(
      (one) =>
        one.type === type &&
        isDeepStrictEqual(one.fallback, fallback) &&
        one.values.every((value, time) => one.faults[time] || valid.includes(value)),
    );
    if (known && this.#of([true, false])) return { variable: known };
    const faults = Array.from({ length: TIMES }, () => this.#mayFail && this.#isSeldom());
    const values = faults.map((isFault) => this.#of(isFault ? refused : valid));
    const name = this.#isSeldom() ? this.#unusual('v') : `v${this.#variables.length}`;
    const variable = { name, type, fallback, values, faults };
    this.#variables.push(variable);
    return { variable };
  }

  #argument(type: string, field: string, known: Known, name: string): Value | undefined {
    const isRequired = !PAGE.includes(name) && name !== 'types';
    if (!isRequired && this.#of([true, false, false])) return undefined;
    const record = known.type?.replace('Connection', '') ?? field.replace('delete', '');
    switch (name) {
      case 'first':
        return this.#size(type, known);
      case 'last':
        return this.#isSeldom() ? this.#size(type, known) : undefined;
      case 'after':
      case 'before':
        return this.#isSeldom() ? this.#place(record) : undefined;
      case 'sort':
        return this.#isSeldom()
          ? { enum: this.#of(['id_asc', 'id_desc', ...(record === 'Pet' ? ['name_desc', 'name_asc'] : [])]) }
          : undefined;
      case 'filter':
        return this.#filter(record);
      case 'types':
        return {
          items: [{ enum: this.#of(['pet_created', 'order_created']) }, { enum: 'inventory_updated' }],
        };
      case 'nodeId':
        return this.#nodeId();
      case 'nodeIds':
        return { items: Array.from({ length: this.#of([1, 2, 3, 30]) }, () => this.#nodeId()) };
      case 'input':
        return this.#input(field);
      default:
        return record === 'Webhook' ? { literal: 'x' } : this.#id(name === 'petId' ? 'Pet' : record, 'ID!');
    }
  }

  #size(type: string, { type: of }: Known): Value {
    if (this.#mayFail && this.#isSeldom()) return { literal: this.#of([0, 101, -1]) };
    const { sizes } = this.#choices;
    if (of !== 'EventConnection' && this.#of([true, false])) {
      const fallback = { literal: this.#of([1, 2, 40]) };
      return this.#of([
        () => this.#variable('Int', [undefined, null, ...sizes], [1.5, 'x']),
        () => this.#variable('Int', [undefined, null, ...sizes], ['x'], fallback),
        () => this.#variable('Int!', sizes, [null, '7']),
      ])();
    }
    const isBelow = type !== 'Query';
    const size = this.#of(sizes);
    return { literal: size === UNREADABLE && !isBelow ? 100 : size };
  }

  #place(record: string): Value {
    const id = this.#choices.idOf(record === 'InventoryItem' ? 'Pet' : record);
    if (this.#mayFail && this.#isSeldom()) return { literal: 'x' };
    return this.#isSeldom() ? this.#variable('String', [undefined, null, id], [7]) : { literal: id };
  }

  /** An id where a nullable one is expected, or `ID!`. */
  #id(record: string, type: 'ID' | 'ID!'): Value {
    const [id, other] = [this.#choices.idOf(record), this.#choices.idOf(record)];
    if (!this.#isSeldom()) return { literal: this.#of([id, id, Number(id)]) };
    const refused = ['0', 1.5, 'x', '9223372036854775808'];
    if (type === 'ID') return this.#variable('ID', [undefined, id, Number(other)], refused);
    const fallback = { literal: id };
    return this.#of([
      () => this.#variable('ID!', [id, Number(other)], [null, ...refused]),
      () => this.#variable('ID', [undefined, other], refused, fallback),
    ])();
  }

  #nodeId(): Value {
    const type = this.#of(NODES);
    const id = this.#choices.idOf(type === 'InventoryItem' ? 'Pet' : type);
    const nodeId = this.#isSeldom() ? 'x' : Buffer.from(`${type}:${id}`).toString('base64url');
    return this.#isSeldom() ? this.#variable('ID!', [nodeId, 'y'], [null, true]) : { literal: nodeId };
  }

  #statuses(): Value {
    if (this.#isSeldom())
      return this.#variable('[PetStatus!]', [undefined, null, ['sold'], 'available', []], ['gone', [null]]);
    const status = (): Value =>
      this.#isSeldom()
        ? this.#variable('PetStatus!', [undefined, 'sold', 'pending'], ['x', null], { enum: 'available' })
        : { enum: this.#of(['sold', 'available', 'pending']) };
    return { items: Array.from({ length: this.#of([1, 2]) }, status) };
  }

  #filter(record: string): Value | undefined {
    const given: Record<string, Value> = {};
    if (record === 'Category') return this.#of([{ literal: null }, { fields: {} }]);
    if (record === 'Order') {
      if (this.#of([true, false])) given.petId = this.#id('Pet', 'ID');
      if (this.#of([true, false])) given.complete = this.#flag();
    } else {
      if (this.#of([true, false])) given.status = this.#statuses();
      if (record === 'Pet' && this.#of([true, false])) given.categoryId = this.#id('Category', 'ID');
    }
    return this.#whole(record === 'InventoryItem' ? 'InventoryFilter' : `${record}Filter`, { fields: given });
  }

  #flag(): Value {
    if (!this.#isSeldom()) return { literal: this.#of([true, false]) };
    return this.#variable('Boolean!', [true, false], ['x', null]);
  }

  /** An input object, sometimes as one variable. */
  #whole(type: string, value: Value): Value {
    if (!this.#isSeldom() || this.#mayFail || JSON.stringify(value).includes('"variable"')) return value;
    return this.#variable(type, [meaning(value, 0)], []);
  }

  #input(field: string): Value {
    const text = (): Value => {
      const name = this.#of(['Rex', ' Bella ', 'O"Hara', 'Ünal \\ 1']);
      if (this.#mayFail && this.#isSeldom()) return { literal: this.#of([' ', 'x'.repeat(201)]) };
      return this.#isSeldom() ? this.#variable('String!', [name], [null, 7]) : { literal: name };
    };
    const number = (least: number): Value =>
      this.#mayFail && this.#isSeldom() ? { literal: -1 } : { literal: least + this.#of([0, 1, 2]) };
    /** What removes a value where that is possible. */
    const orNull = (value: Value): Value =>
      field.startsWith('update') && this.#isSeldom() ? { literal: null } : value;
    const all: Record<string, () => Value> = {
      ...(/Pet$|Category$/.test(field) && { name: text }),
      ...(field.endsWith('Category') && {
        description: () => orNull(this.#variable('String', [undefined, 'x'], [7])),
      }),
      ...(field.endsWith('Pet') && {
        categoryId: () => this.#id('Category', 'ID!'),
        status: () => ({ enum: this.#of(['sold', 'pending']) }),
      }),
      ...(field === 'updateInventory' && { quantity: () => number(0) }),
      ...(field === 'createOrder' && { id: () => ({ literal: this.#choices.newId() }) }),
      ...(field.endsWith('Order') && {
        petId: () => orNull(this.#id('Pet', 'ID')),
        quantity: () => orNull(number(1)),
        shipDate: () => orNull({ literal: '2026-01-31T09:30:00Z' }),
        complete: () => this.#flag(),
      }),
    };
    const required = {
      createCategory: ['name'],
      createPet: ['name', 'categoryId'],
      updateInventory: ['quantity'],
    };
    const isRequired = (name: string) => (required as Record<string, string[]>)[field]?.includes(name);
    const fields = Object.entries(all).flatMap(([name, make]) =>
      isRequired(name) || this.#of([true, false]) ? [[name, make()]] : [],
    );
    return this.#whole(`${INPUTS[field]}!`, { fields: Object.fromEntries(fields) });
  }
}

const INPUTS: Readonly<Record<string, string>> = {
  createCategory: 'NewCategory',
  updateCategory: 'CategoryPatch',
  createPet: 'NewPet',
  updatePet: 'PetPatch',
  updateInventory: 'InventoryUpdate',
  createOrder: 'NewOrder',
  updateOrder: 'OrderPatch',
};

const typename: [string, Known] = ['__typename', { isShared: true }];

const isFitting = (on: string, type: string): boolean =>
  on === type || (on === 'Node' && NODES.includes(type)) || (type === 'Node' && NODES.includes(on));

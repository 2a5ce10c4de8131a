import fc, { type GeneratorValue } from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { cases } from '../kit/cases.ts';
import { query, sqlite, useGateway } from '../kit/petstore.ts';

/**
 * Random operations over the schema as clients see it. What an answer holds is counted as docs/interface.md says,
 * by the names in its response keys, and compared with what was paid. Nothing of the cost model is used.
 */

const kit = useGateway(sqlite);
const RECORDS = 120;

interface TypeRef {
  kind: string;
  name: string | null;
  ofType: TypeRef | null;
}
interface Field {
  name: string;
  args: { name: string; type: TypeRef; defaultValue: string | null }[];
  type: TypeRef;
}
interface Type {
  name: string;
  kind: string;
  fields: Field[] | null;
  possibleTypes: { name: string }[] | null;
}

const types = new Map<string, Type>();
let nodeIds: string[];

const named = (type: TypeRef): TypeRef => (type.ofType ? named(type.ofType) : type);
const isList = ({ kind, ofType }: TypeRef): boolean =>
  kind === 'LIST' || (kind === 'NON_NULL' && isList(ofType!));
const written = ({ kind, name, ofType }: TypeRef): string =>
  kind === 'LIST' ? `[${written(ofType!)}]` : kind === 'NON_NULL' ? `${written(ofType!)}!` : name!;

beforeAll(async () => {
  const { store } = kit.gateway;
  for (let n = 0; n < RECORDS; n++)
    await store.table(Category).insert({ name: `Category ${n}`, description: 'text' });
  for (let n = 0; n < 3 * RECORDS; n++) {
    const categoryId = String(n < RECORDS ? 1 : (n % RECORDS) + 1);
    const { id } = await store.table(Pet).insert({ name: `Pet ${n}`, categoryId, status: 'sold' });
    for (let order = 0; order < (n === 0 ? RECORDS : 2); order++)
      await store.table(Order).insert({ petId: id, quantity: 1, complete: true });
  }
  const reference =
    'kind name ofType { kind name ofType { kind name ofType { kind name ofType { name kind } } } }';
  const { json } = await query(
    kit.gateway,
    `{ __schema { types { name kind possibleTypes { name } fields(includeDeprecated: true) {
      name args { name defaultValue type { ${reference} } } type { ${reference} } } } }
      pets(first: 100) { nodes { nodeId } } }`,
  );
  for (const type of json.data.__schema.types) types.set(type.name, type);
  nodeIds = json.data.pets.nodes.map(({ nodeId }: { nodeId: string }) => nodeId);
});

/** Writes one operation at random. */
class Writer {
  readonly #g: GeneratorValue;
  readonly #fragments: string[] = [];
  readonly #variables = new Map<string, { type: string; value: unknown }>();
  #left: number;
  #keys = 0;

  constructor(g: GeneratorValue) {
    this.#g = g;
    this.#left = this.#of([3, 10, 40, 150]);
  }

  operation(): { text: string; variables: Record<string, unknown> } {
    const root = this.#of(['Query', 'Query', 'Query', 'Mutation']);
    const body = this.#selection(types.get(root)!, this.#of([2, 3, 4, 5, 6]));
    const definitions = [...this.#variables].map(([name, { type }]) => `$${name}: ${type}`);
    const head = `${root.toLowerCase()}${definitions.length > 0 ? ` (${definitions.join(', ')})` : ''}`;
    return {
      text: [`${head} ${body}`, ...this.#fragments].join(' '),
      variables: Object.fromEntries([...this.#variables].map(([name, { value }]) => [name, value])),
    };
  }

  #of<T>(choices: readonly T[]): T {
    return this.#g(fc.constantFrom, ...choices) as T;
  }

  #seldom(): boolean {
    return this.#of([true, false, false, false, false, false, false]);
  }

  #variable(type: string, value: unknown): string {
    const name = `v${this.#variables.size}`;
    this.#variables.set(name, { type, value });
    return `$${name}`;
  }

  #selection({ name, kind, fields, possibleTypes }: Type, depth: number): string {
    if (kind === 'INTERFACE') {
      const parts = possibleTypes!.map(
        (one) => `... on ${one.name} ${this.#selection(types.get(one.name)!, depth)}`,
      );
      return `{ typename_${this.#keys++}: __typename ${parts.join(' ')} }`;
    }
    const fitting = fields!.filter((field) => this.#canSelect(field, depth, name));
    const parts: string[] = [];
    for (let left = this.#of([1, 2, 3, 8, 30]); left > 0 && (this.#left > 0 || parts.length === 0); left--) {
      this.#left--;
      const field = fitting.length > 0 && !this.#seldom() ? this.#of(fitting) : undefined;
      const key = `${field?.name ?? 'typename'}_${this.#keys++}: `;
      const text = field ? this.#field(field, depth) : '__typename';
      parts.push(this.#wrapped(key + text, name));
      // The same key again is the same field.
      if (this.#seldom()) parts.push(this.#wrapped(key + text, name));
    }
    return `{ ${parts.join(' ')} }`;
  }

  #canSelect({ name, args, type }: Field, depth: number, of: string): boolean {
    if (name.startsWith('__') || (depth <= 0 && types.get(named(type).name!)!.fields)) return false;
    // Mutations that change nothing, so that the records stay.
    if (of === 'Mutation') return /^update(Pet|Category|Order)$/.test(name);
    return args.every((argument) => argument.type.kind !== 'NON_NULL' || named(argument.type).name === 'ID');
  }

  #wrapped(text: string, type: string): string {
    switch (this.#of(['', '', '', '', 'inline', 'fragment', 'skip', 'include', 'out', 'out by variable'])) {
      case 'inline':
        return `... on ${type} @include(if: true) { ${text} }`;
      case 'fragment':
        this.#fragments.push(`fragment F${this.#fragments.length} on ${type} { ${text} }`);
        return `...F${this.#fragments.length - 1}`;
      case 'skip':
        return `... @skip(if: ${this.#variable('Boolean!', false)}) { ${text} }`;
      case 'include':
        return `... @include(if: ${this.#variable('Boolean!', true)}) { ${text} }`;
      case 'out':
        return `typename_${this.#keys++}: __typename ... @include(if: false) { ${text} }`;
      case 'out by variable':
        return `typename_${this.#keys++}: __typename ... @skip(if: ${this.#variable('Boolean! = true', true)}) { ${text} }`;
      default:
        return text;
    }
  }

  #field({ name, args, type }: Field, depth: number): string {
    const given: string[] = [];
    const size = args.some((argument) => argument.name === 'first') && !this.#seldom();
    if (size) {
      const value = this.#of([1, 2, 5, 10, 49, 100]);
      const argument = args.some(({ name }) => name === 'last') ? this.#of(['first', 'last']) : 'first';
      given.push(`${argument}: ${this.#seldom() ? this.#variable('Int', value) : value}`);
    }
    for (const argument of args.filter(({ type }) => type.kind === 'NON_NULL'))
      given.push(`${argument.name}: ${this.#required(argument.name, argument.type)}`);
    const below = types.get(named(type).name!)!;
    const list = given.length > 0 ? `(${given.join(', ')})` : '';
    return `${name}${list}${below.fields ? ` ${this.#selection(below, depth - 1)}` : ''}`;
  }

  #required(name: string, type: TypeRef): string {
    if (named(type).name !== 'ID') return '{}';
    const one = () => (name.startsWith('nodeId') ? this.#of(nodeIds) : this.#of(['1', '2', '77']));
    const value = isList(type) ? Array.from({ length: this.#of([1, 30, 100]) }, one) : one();
    return this.#seldom() ? this.#variable(written(type), value) : JSON.stringify(value);
  }
}

const WRAPPERS = new Set(['nodes', 'edges', 'pageInfo']);
const FREE = new Set(['rateLimit', 'typename']);

const weightOf = (name: string): number =>
  WRAPPERS.has(name) ? 0 : name === 'description' ? 20 : name === 'name' ? 2 : 1;

/** What a value and all below it hold. */
function held(value: unknown): { entries: number; weight: number } {
  const sum = { entries: 0, weight: 0 };
  const add = (part: unknown): void => {
    const { entries, weight } = held(part);
    sum.entries += entries;
    sum.weight += weight;
  };
  if (Array.isArray(value)) {
    const isObjects = value.some((one) => typeof one === 'object');
    if (isObjects) sum.entries += value.length;
    for (const one of value) add(one);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) {
      const name = key.replace(/_\d+$/, '');
      sum.weight += weightOf(name);
      // JSON of its own, whose keys are no fields.
      if (name !== 'data') add(part);
    }
  }
  return sum;
}

/**
 * Sends an operation and compares what its answer holds with its price.
 *
 * @returns how much of the bounds it fills, from 0 to 1; undefined if it is refused as too complex
 */
async function fillOf(
  text: string,
  variables: Record<string, unknown> = {},
): Promise<{ entries: number; weight: number } | undefined> {
  const sent = await query(kit.gateway, text, variables, { headers: { 'x-ratelimit-extension': 'on' } });
  if (sent.status === 400) {
    expect(sent.json.errors[0].extensions.code, sent.about).toBe('QUERY_TOO_COMPLEX');
    return undefined;
  }
  expect(sent.json.errors, sent.about).toBeUndefined();
  const price = sent.json.extensions.rateLimit.cost;
  const paid = { entries: 0, weight: 0 };
  let free = 0;
  for (const [key, value] of Object.entries(sent.json.data)) {
    const name = key.replace(/_\d+$/, '');
    const { entries, weight } = held(value);
    paid.entries += entries;
    if (FREE.has(name)) free += weight + (name === 'typename' ? 1 : 0);
    else paid.weight += weight;
  }
  if (free > 100) paid.weight += free;
  expect(paid.entries, `${price} units ${sent.about}`).toBeLessThanOrEqual(100 * price);
  expect(paid.weight, `${price} units ${sent.about}`).toBeLessThanOrEqual(2_500 * price);
  return { entries: paid.entries / (100 * (price || 1)), weight: paid.weight / (2_500 * (price || 1)) };
}

it('allows exactly the entries and the weight that are paid for', async () => {
  const fields = Array.from({ length: 25 }, (_, n) => `id_${n}: id`);
  expect(await fillOf(`{ pets_0: pets(first: 100) { nodes_0: nodes { ${fields.join(' ')} } } }`)).toEqual({
    entries: 1,
    weight: 1,
  });
});

it('bounds the entries and the weight of every answer', async () => {
  const runs = cases(20, 1_000);
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (g) => {
      const { text, variables } = new Writer(g).operation();
      // The first time it is interpreted, from the third time on perhaps compiled.
      for (let time = 0; time < 3; time++) if (await fillOf(text, variables)) answered++;
    }),
    { numRuns: runs },
  );
  // Otherwise most of them were refused.
  expect(answered).toBeGreaterThan(runs);
}, 600_000);

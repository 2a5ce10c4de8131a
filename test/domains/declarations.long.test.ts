import { randomUUID } from 'node:crypto';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { folded } from '../../src/foundation/folded.ts';
import { type AnyDeclaration, type Fields, groupedFields } from '../../src/foundation/record.ts';
import { parseJson } from '../../src/http/parse-json.ts';
import { toJson } from '../../src/schema/json-text.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import {
  apiWith,
  breaksRule,
  canonical,
  childListName,
  conditionsOf as conditions,
  declarations,
  declare,
  holdsOf,
  hooksRefuse,
  countOf,
  LONG,
  POOL,
  type RecordSpec,
  referenceName,
  type Since,
  specsAt,
  TYPES,
  uniqueAt,
  writtenBeside,
} from '../kit/declared.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { TestGateway } from '../kit/gateway.ts';
import { rpc } from '../kit/mcp.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { engines } from '../kit/stores.ts';

/**
 * Declarations drawn from the whole language, and one plain model of what they say. The same operations run over REST,
 * GraphQL and MCP on both engines, with a restart in between that adds fields, sorts and unique keys, and makes the rule
 * for texts stricter.
 */
const isAtLength = process.env.AT_LENGTH === '1';

type Values = Record<string, unknown>;
type Door = 'rest' | 'graphql' | 'mcp';
interface Answer {
  code?: string;
  message?: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever was declared
  value?: any;
}

const bytes = (text: string) => Buffer.from(text);
const isText = (record: AnyDeclaration, name: string) => {
  const { kind, choices } = (record.fields as Fields)[name]!;
  return kind === 'text' && !choices;
};

/** True if REST has the values as integers of any size, and all others as digits. */
const isInt64 = ({ fields }: AnyDeclaration, name: string): boolean =>
  name === 'id' || ['id', 'bigInteger'].includes((fields as Fields)[name]?.kind ?? '');

/** The variable of a list's conditions, and its argument: lists without any have neither. */
const filterOf = (record: AnyDeclaration) =>
  conditions(record).length > 0
    ? { variable: `$filter: ${record.type}Filter`, argument: 'filter: $filter' }
    : { variable: '', argument: '' };

/** The records of the declarations, in maps. */
class Model {
  readonly records: Map<string, Values>[] = TYPES.map(() => new Map());
  declared: readonly AnyDeclaration[] = [];
  stage: Since = 'start';
  keys: (string[] | undefined)[] = [];
  readonly specs: readonly RecordSpec[];

  constructor(specs: readonly RecordSpec[]) {
    this.specs = specs;
  }

  begin(stage: Since, declared: readonly AnyDeclaration[]): void {
    this.stage = stage;
    this.declared = declared;
    this.keys = declared.map(({ unique }) => unique[0] as string[] | undefined);
    for (const [n, { fields }] of declared.entries())
      for (const values of this.records[n]!.values())
        for (const [name, { presence, default: value }] of Object.entries(fields as Fields))
          if (presence === 'defaulted') values[name] ??= value;
  }

  /** True if existing records may share values that must be unique from now on. */
  mayBeUnique(n: number): boolean {
    const names = uniqueAt(this.specs[n]!, 'restart') ?? [];
    const all = [...this.records[n]!.values()].map((values) => names.map((name) => values[name]));
    const present = all.filter((key) => !key.includes(undefined)).map((key) => JSON.stringify(key));
    return new Set(present).size === present.length;
  }

  /** The code of the error that a write of these values is; undefined if it succeeds. */
  refusal(n: number, id: string | undefined, values: Values): string | undefined {
    if (breaksRule(values)) return 'VALIDATION_FAILED';
    const before = id === undefined ? undefined : this.records[n]!.get(id);
    for (const reference of this.specs[n]!.references) {
      const name = referenceName(reference);
      const parent = values[name] as string | undefined;
      if (parent === undefined || this.records[reference.parent]!.has(parent)) continue;
      const isNew = before?.[name] !== parent;
      if (isNew || (this.#isHolding(n, reference, values) && !this.#isHolding(n, reference, before!)))
        return 'UNKNOWN_REFERENCE';
    }
    const key = this.keys[n];
    if (hooksRefuse(this.specs[n]!, values)) return 'CONFLICT';
    if (!key || key.some((name) => values[name] === undefined)) return undefined;
    for (const [other, theirs] of this.records[n]!)
      if (other !== id && key.every((name) => theirs[name] === values[name])) return 'CONFLICT';
    return undefined;
  }

  #isHolding(n: number, reference: RecordSpec['references'][number], values: Values): boolean {
    const where = holdsOf(this.specs[n]!, reference);
    return where !== null && Object.entries(where ?? {}).every(([name, value]) => values[name] === value);
  }

  isHeld(n: number, id: string): boolean {
    return this.specs.some((spec, child) =>
      spec.references.some(
        (reference) =>
          reference.parent === n &&
          [...this.records[child]!.values()].some(
            (values) => values[referenceName(reference)] === id && this.#isHolding(child, reference, values),
          ),
      ),
    );
  }

  /** The ids of a list. */
  list(n: number, filter: Values, sort: string): string[] {
    const record = this.declared[n]!;
    const descending = sort.startsWith('-');
    const field = sort.replace('-', '');
    const direction = descending ? -1 : 1;
    const keyOf = (values: Values) => {
      const value = values[field];
      if (value === undefined || field === 'id') return undefined;
      const { kind } = (record.fields as Fields)[field]!;
      if (isInt64(record, field)) return BigInt(value as string);
      if (kind === 'instant') return Date.parse(value as string);
      return isText(record, field) ? folded(value as string) : value;
    };
    const matches = (values: Values) =>
      Object.entries(filter).every(([name, wanted]) => {
        if (Array.isArray(wanted)) return wanted.includes(values[name]);
        if (typeof wanted === 'object') {
          const { min, max } = wanted as { min?: unknown; max?: unknown };
          const key = (value: unknown) =>
            (record.fields as Fields)[name]!.kind === 'instant'
              ? Date.parse(value as string)
              : isInt64(record, name)
                ? BigInt(value as string)
                : (value as number);
          if (values[name] === undefined) return min == null && max == null;
          return !(
            (min != null && key(values[name]) < key(min)) ||
            (max != null && key(values[name]) > key(max))
          );
        }
        if (record.sorts.includes(name) && isText(record, name))
          return (
            values[name] !== undefined && folded(values[name] as string).startsWith(folded(wanted as string))
          );
        return values[name] === wanted;
      });
    const compare = (a: unknown, b: unknown): number => {
      if (a === b) return 0;
      if (typeof a === 'string') return Buffer.compare(bytes(a), bytes(b as string));
      return (a as number) < (b as number) ? -1 : 1;
    };
    return [...this.records[n]!]
      .filter(([, values]) => matches(values))
      .toSorted(([idA, a], [idB, b]) => {
        const x = keyOf(a);
        const y = keyOf(b);
        if (x === undefined || y === undefined) if (x !== y) return x === undefined ? 1 : -1;
        return direction * (compare(x, y) || compare(BigInt(idA), BigInt(idB)));
      })
      .map(([id]) => id);
  }
}

/** One gateway, asked by any interface. Ids are texts. */
class Program {
  readonly gateway: TestGateway;
  readonly record: (n: number) => AnyDeclaration;

  constructor(gateway: TestGateway, record: (n: number) => AnyDeclaration) {
    this.gateway = gateway;
    this.record = record;
  }

  async ask(
    door: Door,
    operation: 'create' | 'update' | 'delete' | 'get',
    n: number,
    id?: string,
    values?: Values,
  ): Promise<Answer> {
    const { kind, plural, type, fields } = this.record(n);
    if (door === 'rest') {
      const method = { create: 'POST', update: 'PATCH', delete: 'DELETE', get: 'GET' }[operation];
      const path = id === undefined ? `/${plural}` : `/${plural}/${id}`;
      const headers = { 'content-type': 'application/json' };
      const body = values && toJson(this.#withNumbers(n, values));
      const { status, json, text } = await this.gateway.call(path, {
        method,
        ...(body && { headers, body }),
      });
      if (status >= 500) throw new Error(text);
      if (status >= 400) return { code: json.code, message: json.message };
      return { value: json && this.#plain(n, parseJson(Buffer.from(text)) as Values) };
    }
    if (door === 'mcp') {
      // Null is absent there.
      const remove = Object.keys(values ?? {}).filter((name) => values![name] === null);
      const args = {
        ...values,
        ...(remove.length > 0 && { remove }),
        ...(id !== undefined && { [`${kind}Id`]: id }),
      };
      const sent = await rpc(this.gateway, 'tools/call', { name: `${operation}${type}`, arguments: args });
      const { result } = sent.json;
      if (!result) throw new Error(sent.text);
      const [{ text }] = result.content;
      if (result.isError) return { code: text.split(':')[0] };
      return { value: operation === 'delete' ? undefined : this.#plain(n, JSON.parse(text)) };
    }
    const selected = `{ id ${Object.keys(fields).join(' ')} }`;
    const query = {
      create: `mutation ($input: New${type}!) { result: create${type}(input: $input) ${selected} }`,
      update: `mutation ($id: ID!, $input: ${type}Patch!) { result: update${type}(id: $id, input: $input) ${selected} }`,
      delete: `mutation ($id: ID!) { result: delete${type}(id: $id) }`,
      get: `query ($id: ID!) { result: ${kind}(id: $id) ${selected} }`,
    }[operation];
    const { json, text } = await this.gateway.graphql(query, {
      ...(id && { id }),
      ...(values && { input: values }),
    });
    if (json.errors) {
      if (json.errors[0].extensions.status >= 500) throw new Error(text);
      return { code: json.errors[0].extensions.code };
    }
    if (operation === 'get' && json.data.result === null) return { code: 'NOT_FOUND' };
    return { value: operation === 'delete' ? undefined : this.#plain(n, json.data.result) };
  }

  /** The same without its message. */
  async askPlainly(...call: Parameters<Program['ask']>): Promise<Answer> {
    const { message: _, ...answer } = await this.ask(...call);
    return answer;
  }

  #withNumbers(n: number, values: Values): Values {
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        isInt64(this.record(n), name) && value !== null ? BigInt(value as string) : value,
      ]),
    );
  }

  #plain(n: number, values: Values): Values {
    const { fields } = this.record(n);
    return Object.fromEntries(
      Object.entries(values)
        .filter(([name, value]) => value !== null && (name === 'id' || name in fields))
        .map(([name, value]) => [name, isInt64(this.record(n), name) ? String(value) : value]),
    );
  }

  /** A page of a list. @returns its ids, and where the next one begins */
  async page(door: Door, n: number, filter: Values, sort: string, limit: number, after?: string) {
    const { plural } = this.record(n);
    if (door === 'graphql') {
      const clause = filterOf(this.record(n));
      const name = `${sort.replace('-', '')}_${sort.startsWith('-') ? 'desc' : 'asc'}`;
      const { json, text } = await this.gateway.graphql(
        `query (${clause.variable} $after: String) { list: ${plural}(${clause.argument} sort: ${name}, first: ${limit}, after: $after) {
          nodes { id } totalCount pageInfo { hasNextPage endCursor } } }`,
        { filter, ...(after !== undefined && { after }) },
      );
      if (!json.data) throw new Error(`${text} ${JSON.stringify({ filter, sort })}`);
      const { nodes, totalCount, pageInfo } = json.data.list;
      const ids: string[] = nodes.map(({ id }: { id: string }) => id);
      return { ids, next: pageInfo.hasNextPage ? (pageInfo.endCursor as string) : undefined, totalCount };
    }
    const args: Values = { ...filter, sort, limit, ...(after !== undefined && { after }) };
    for (const [name, value] of Object.entries(filter)) {
      if (typeof value !== 'object' || Array.isArray(value)) continue;
      delete args[name];
      for (const [end, bound] of Object.entries(value as Values))
        if (bound != null) args[`${name}${end === 'min' ? 'Min' : 'Max'}`] = bound;
    }
    if (door === 'mcp') {
      const { json, text } = await rpc(this.gateway, 'tools/call', {
        name: `list${plural[0]!.toUpperCase()}${plural.slice(1)}`,
        arguments: args,
      });
      if (!json.result || json.result.isError) throw new Error(`${text} ${JSON.stringify(args)}`);
      const page = JSON.parse(json.result.content[0].text);
      return {
        ids: page.items.map(({ id }: { id: unknown }) => String(id)) as string[],
        next: page.after as string | undefined,
      };
    }
    const query = Object.entries(args).flatMap(([name, value]) =>
      [value].flat().map((one) => `${name}=${encodeURIComponent(String(one))}`),
    );
    const { json, status, headers, text } = await this.gateway.call(`/${plural}?${query.join('&')}`);
    if (status !== 200)
      throw new Error(
        `${text} ${query.join('&')} ${this.gateway.logs.filter((line) => line.includes('stack')).at(-1)}`,
      );
    const link = /<([^>]*)>; rel="next"/.exec(String(headers.link ?? ''))?.[1];
    const next = link && (new URL(link, 'http://a').searchParams.get('after') ?? undefined);
    return { ids: json.map(({ id }: { id: unknown }) => String(id)) as string[], next };
  }

  /** All ids of a list, page by page. */
  async list(
    door: Door,
    n: number,
    filter: Values,
    sort: string,
    limit: number,
    from?: string,
  ): Promise<string[]> {
    const ids: string[] = [];
    let after = from;
    do {
      const page = await this.page(door, n, filter, sort, limit, after);
      // Pages are full while there are records.
      if (page.next !== undefined) expect(page.ids).toHaveLength(limit);
      ids.push(...page.ids);
      after = page.next;
    } while (after !== undefined);
    return ids;
  }
}

const home = temporaryFolder();
const databases: string[] = [];
afterAll(async () => {
  for (const database of databases) await dropDatabase(database);
});

/** Starts a program with these declarations on the data of each engine. */
async function start(specs: readonly RecordSpec[], stage: Since, name: string, model: Model) {
  const unique = specs.map((spec, n) => spec.unique !== 'restart' || model.mayBeUnique(n));
  const declared = declare(specs, stage, unique);
  const served = apiWith(declared);
  const { records, objects } = served;
  model.begin(stage, declared);
  const stores: Store[] = [];
  // A copy, as if moved to another machine: this process has not let go of the file of the first start.
  const file = (at: Since, end = '') => join(home, `${name}-${at}.db${end}`);
  for (const end of ['', '-wal'])
    if (stage === 'restart' && existsSync(file('start', end))) cpSync(file('start', end), file(stage, end));
  stores.push(openSqliteStore({ records, file: file(stage), role: 'server' }));
  if (engines.length > 1) {
    if (!databases.includes(name)) databases.push(name);
    stores.push(await openMongoStore({ records, objects, uri: mongoUri(name) }));
  }
  const programs: Program[] = [];
  for (const store of stores) {
    const gateway = await TestGateway.start(store, { SAMPLE_DATA: 'off' }, undefined, { api: served });
    programs.push(new Program(gateway, (n) => declared[n]!));
  }
  return {
    programs,
    async stop() {
      for (const [n, { gateway }] of programs.entries()) {
        await gateway.close();
        await stores[n]!.close();
      }
    },
  };
}

async function check(specs: readonly RecordSpec[], draw: fc.GeneratorValue): Promise<void> {
  const model = new Model(specs);
  const name = `declared-${randomUUID().slice(0, 8)}`;
  const pick = <T>(values: readonly T[]): T => values[draw(fc.nat, values.length - 1)]!;
  const door = (): Door => pick(['rest', 'graphql', 'mcp']);
  let running = await start(specs, 'start', name, model);

  const agree = async <T>(
    work: (program: Program) => Promise<T>,
    expected: T,
    about: unknown,
  ): Promise<void> => {
    for (const [n, program] of running.programs.entries())
      expect(await work(program), `${n === 0 ? 'sqlite' : 'mongodb'} ${JSON.stringify(about)}`).toEqual(
        expected,
      );
  };
  const anyValue = (n: number, name: string): unknown => {
    const reference = specs[n]!.references.find((one) => referenceName(one) === name);
    if (reference) return pick([...model.records[reference.parent]!.keys(), '4711']);
    return pick(
      POOL[specs[n]!.fields.find((one) => one.name === name)!.kind].filter(
        (value) => model.stage === 'start' || String(value).length < 9 || kindOf(n, name) !== 'text',
      ),
    );
  };
  const kindOf = (n: number, name: string) => specs[n]!.fields.find((one) => one.name === name)?.kind ?? 'id';
  const fieldsOf = (n: number) => [
    ...specs[n]!.references.map((one) => ({ name: referenceName(one), presence: one.presence as string })),
    ...specsAt(specs[n]!, model.stage),
  ];

  const create = async (n: number) => {
    const input: Values = {};
    const values: Values = {};
    const areUnknown = pick([true, false, false, false]);
    for (const { name, presence } of fieldsOf(n)) {
      if (presence !== 'required' && pick([true, false, false])) {
        if (presence === 'defaulted')
          values[name] = canonical(kindOf(n, name), POOL[kindOf(n, name) as 'integer'][0]);
        continue;
      }
      const isReference = specs[n]!.references.some((one) => referenceName(one) === name);
      input[name] = areUnknown && isReference ? '4711' : anyValue(n, name);
      values[name] = canonical(kindOf(n, name), input[name]);
    }
    const code = model.refusal(n, undefined, values);
    const by = door();
    let id = '';
    for (const program of running.programs) {
      const answer = await program.ask(by, 'create', n, undefined, input);
      expect(answer.code, `${by} create ${JSON.stringify([n, input])}`).toBe(code);
      if (code === 'UNKNOWN_REFERENCE' && by === 'rest') {
        const unknown = specs[n]!.references.filter(
          (one) =>
            input[referenceName(one)] && !model.records[one.parent]!.has(String(input[referenceName(one)])),
        );
        for (const one of unknown) expect(answer.message).toContain(referenceName(one));
      }
      if (code) continue;
      if (id) expect(answer.value.id).toBe(id);
      id = answer.value.id;
      expect(answer.value, by).toEqual({ id, ...values });
    }
    if (code) return;
    model.records[n]!.set(id, values);
    await createdBeside(n, id, values);
  };

  /** The writes of the hooks of a new record: a child of it, whose own hooks run too, and a number of its parent. */
  const createdBeside = async (n: number, id: string, values: Values): Promise<void> => {
    const { child, parent } = writtenBeside(specs, n, { id, ...values });
    if (child) {
      const { json } = await running.programs[0]!.gateway.call(`/${TYPES[n + 1]![1]}?sort=-id&limit=1`);
      const childId = String(json[0].id);
      const stored = Object.fromEntries(
        fieldsOf(n + 1).flatMap(({ name, presence }) => {
          const kind = kindOf(n + 1, name);
          const value = child[name] ?? (presence === 'defaulted' ? POOL[kind as 'integer'][0] : undefined);
          return value === undefined ? [] : [[name, canonical(kind, value)]];
        }),
      );
      model.records[n + 1]!.set(childId, stored);
      await agree(
        (program) => program.ask('rest', 'get', n + 1, childId),
        { value: { id: childId, ...stored } },
        [n, id],
      );
      await createdBeside(n + 1, childId, stored);
    }
    if (parent) model.records[specs[n]!.references[0]!.parent]!.get(parent.id)![parent.field] = parent.value;
  };

  const update = async (n: number) => {
    const id = pick([...model.records[n]!.keys(), '4711']);
    const before = model.records[n]!.get(id);
    const { name, presence } = pick(fieldsOf(n));
    const drawn = presence === 'optional' && pick([true, false, false]) ? null : anyValue(n, name);
    const values = { ...before, [name]: drawn === null ? undefined : canonical(kindOf(n, name), drawn) };
    const isSame = before?.[name] === values[name];
    const code = before ? (isSame ? undefined : model.refusal(n, id, values)) : 'NOT_FOUND';
    if (values[name] === undefined) delete values[name];
    const by = door();
    const about = [by, 'update', n, id, name, drawn];
    await agree(
      (program) => program.askPlainly(by, 'update', n, id, { [name]: drawn }),
      code ? { code } : { value: { id, ...values } },
      about,
    );
    if (!code) model.records[n]!.set(id, values);
  };

  const remove = async (n: number) => {
    const id = pick([...model.records[n]!.keys(), '4711']);
    const code = !model.records[n]!.has(id) ? 'NOT_FOUND' : model.isHeld(n, id) ? 'CONFLICT' : undefined;
    const by = door();
    await agree(
      (program) => program.askPlainly(by, 'delete', n, id),
      code ? { code } : { value: undefined },
      [by, 'delete', n, id],
    );
    if (!code) model.records[n]!.delete(id);
  };

  const drawList = (n: number) => {
    const record = model.declared[n]!;
    const filter: Values = {};
    let ordering: string | undefined;
    for (const [name, is] of conditions(record)) {
      if (pick([true, false]) || (is !== 'value' && ordering !== undefined)) continue;
      if (is === 'range') {
        const end = () => pick([anyValue(n, name), anyValue(n, name), null, undefined]);
        const range = { min: end(), max: end() };
        filter[name] = range;
        if (range.min != null || range.max != null) ordering = name;
      } else if (is === 'prefix') {
        const text = [...String(anyValue(n, name))].slice(0, pick([1, 2, 9])).join('');
        if (text.trim() === '') continue;
        ordering = name;
        filter[name] = text;
      } else if ((record.fields as Fields)[name]!.choices)
        filter[name] = pick([['low'], ['low', 'none'], ['high', 'low', 'none']]);
      else filter[name] = canonical(kindOf(n, name), anyValue(n, name));
    }
    const orders = ordering === undefined ? ['id', ...record.sorts] : [ordering];
    return { filter, sort: `${pick(['', '-'])}${pick(orders)}` };
  };
  const list = async (n: number) => {
    const { filter, sort } = drawList(n);
    const by = door();
    const limit = pick([1, 2, 5]);
    const ids = model.list(n, filter, sort);
    await agree((program) => program.list(by, n, filter, sort, limit), ids, [by, n, filter, sort, limit]);
    const parent = pick(model.specs[n]!.references.length > 0 ? model.specs[n]!.references : [undefined]);
    if (by !== 'graphql') return;
    const { totalCount } = await running.programs.at(-1)!.page(by, n, filter, sort, 1);
    expect(totalCount).toBe(ids.length);
    const groups = groupedFields(model.declared[n]!).filter(() => pick([true, false]));
    if (groups.length > 0) {
      const { type, kind } = model.declared[n]!;
      const clause = filterOf(model.declared[n]!);
      const counted = new Map<string, number>();
      for (const id of ids) {
        const key = JSON.stringify(groups.map((name) => model.records[n]!.get(id)![name]));
        counted.set(key, (counted.get(key) ?? 0) + 1);
      }
      const text = `query ($by: [${type}Group!]! ${clause.variable}) { counts: ${kind}Counts(by: $by ${clause.argument}) { count ${groups.join(' ')} } }`;
      await agree(
        async ({ gateway }) => {
          const { json } = await gateway.graphql(text, { by: groups, filter });
          const rows: Values[] = json.data.counts;
          return new Map(
            rows.map(({ count, ...values }) => [JSON.stringify(groups.map((name) => values[name])), count]),
          );
        },
        counted,
        [n, groups, filter],
      );
    }
    if (!parent || referenceName(parent) in filter) return;
    // The same below each parent.
    const { kind } = model.declared[n]!;
    const { variable, argument } = filterOf(model.declared[n]!);
    const list = childListName(model.declared[n]!, parent);
    const parents = [...model.records[parent.parent]!.keys()].slice(0, 3);
    const order = `${sort.replace('-', '')}_${sort.startsWith('-') ? 'desc' : 'asc'}`;
    const text = parents.map(
      (id, i) =>
        `p${i}: ${TYPES[parent.parent]![0]}(id: ${id}) { ${list}(${argument} sort: ${order}, last: 2) { nodes { id } totalCount } }`,
    );
    if (text.length === 0) return;
    const below = Object.fromEntries(
      parents.map((id, i) => {
        const children = model.list(n, { ...filter, [referenceName(parent)]: id }, sort);
        return [
          `p${i}`,
          {
            [list]: { nodes: children.slice(-2).map((one) => ({ id: one })), totalCount: children.length },
          },
        ];
      }),
    );
    await agree(
      async ({ gateway }) =>
        (await gateway.graphql(`query ${variable && `(${variable})`} { ${text.join(' ')} }`, { filter })).json
          .data,
      below,
      [kind, filter, sort],
    );
  };

  /** A list that all interfaces refuse: with two texts that records are found by, or a number out of range. */
  const wrongList = async (n: number) => {
    const all = conditions(model.declared[n]!);
    const finders = all.flatMap(([name, is]) => (is === 'prefix' ? [name] : []));
    const [number, is] = all.find(([name]) => kindOf(n, name) === 'integer') ?? [];
    const wrong = [
      ...(finders.length > 1 ? [{ [finders[0]!]: 'a', [finders[1]!]: 'a' }] : []),
      ...(number ? [{ [number]: is === 'range' ? { min: 11 } : 11 }] : []),
    ];
    if (wrong.length === 0) return;
    const by = door();
    const filter = pick(wrong);
    // That of the one that comes last, which would be right for it alone.
    const sort = finders[1] && finders[1] in filter ? finders[1] : 'id';
    const ask = (program: Program) => program.page(by, n, filter, sort, 2).then(String, String);
    for (const program of running.programs) expect(await ask(program)).toContain('VALIDATION_FAILED');
  };

  const run = async (operations: number) => {
    for (let i = 0; i < operations; i++) {
      const n = pick([0, 1, 2, 2, 3]);
      await pick([create, create, update, update, list, list, list, wrongList, remove])(n);
    }
  };
  const lists = async () => {
    for (const n of TYPES.keys())
      for (const sort of model.declared[n]!.sorts)
        for (const direction of ['', '-'])
          await agree(
            (program) => program.list('rest', n, {}, direction + sort, 3),
            model.list(n, {}, direction + sort),
            [n, direction, sort],
          );
  };

  try {
    for (const n of TYPES.keys()) for (let i = 0; i < 6; i++) await create(n);
    await lists();
    await run(isAtLength ? 80 : 30);
    // A page that is read on after the restart, which makes the rule for texts stricter.
    const places: (() => Promise<void>)[] = [];
    for (const n of TYPES.keys())
      for (const sort of model.declared[n]!.sorts) {
        const pages = await Promise.all(
          running.programs.map((program) => program.page('rest', n, {}, sort, 2)),
        );
        const rest = model.list(n, {}, sort).slice(2);
        places.push(async () => {
          if (!model.declared[n]!.sorts.includes(sort)) return;
          for (const [i, program] of running.programs.entries())
            if (pages[i]!.next !== undefined)
              expect(await program.list('rest', n, {}, sort, 4, pages[i]!.next)).toEqual(rest);
        });
      }
    await running.stop();
    running = await start(specs, 'restart', name, model);
    for (const place of places) await place();
    await lists();
    await run(isAtLength ? 80 : 30);
    for (const n of TYPES.keys())
      for (const [id, values] of model.records[n]!) {
        await agree((program) => program.ask('rest', 'get', n, id), { value: { id, ...values } }, [n, id]);
        // What GET gave, the computed field included, can be put back on condition that nothing has changed.
        for (const { gateway } of running.programs) {
          const path = `/${TYPES[n]![1]}/${id}`;
          const got = await gateway.call(path);
          expect(got.json.filled).toBe(countOf(values));
          if (Object.values(values).includes(LONG)) continue;
          const headers = { 'if-match': String(got.headers.etag), 'content-type': 'application/json' };
          const put = await gateway.call(path, { method: 'PUT', headers, body: got.text });
          expect([put.status, put.text], path).toEqual([200, got.text]);
        }
      }
  } finally {
    await running.stop();
  }
}

it('what a declaration accepts works over all interfaces, on all engines, and after a restart', async () => {
  await fc.assert(fc.asyncProperty(declarations, fc.gen(), check), {
    seed: Number(process.env.SEED ?? 38),
    numRuns: Number(process.env.RUNS ?? (isAtLength ? 20 : 1)),
    endOnFailure: true,
  });
}, 600_000);

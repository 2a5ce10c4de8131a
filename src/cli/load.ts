import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { AppError } from '../foundation/errors.ts';
import { folded } from '../foundation/folded.ts';
import type { Id } from '../foundation/id.ts';
import { type AnyRecord, type Fields, newRules, parentField, referencesOf } from '../foundation/record.ts';
import { graphqlDialect, issuesOf, UNKNOWN_FIELD_RULE } from '../foundation/validation.ts';
import type { Store } from '../store/store.ts';
import type { Tables } from '../store/table.ts';
import { explained, type Report, refused } from './command.ts';
import { type Row, rowsOf } from './load-rows.ts';

export interface LoadOptions {
  record: AnyRecord;
  /** `-` for standard input. */
  file: string;
  /** Only check. */
  dryRun: boolean;
  /** The line to begin with: those before are loaded already. */
  from: number;
  /** Whether a parent is created that no record has the name of. */
  createParents: boolean;
  /** Called after each commit with the next line. */
  onProgress(next: number, loaded: number): void;
}

/** Records that are checked and committed together. */
const BATCH_SIZE = 100;
/** Milliseconds between commits, in which a server beside can write. */
const PAUSE = 2;
const MAX_FAULTS = 50;
const PAGE = 100;

/** How a record refers to a parent by its name: `category.name` instead of `categoryId`. */
interface NameColumn {
  column: string;
  field: string;
  parent: AnyRecord;
  /** The rule of the name. */
  rule: z.ZodType;
  /** Whether a name is all that a parent needs. */
  isCreatable: boolean;
}

/** A record to add. */
interface NewRecord {
  line: number;
  values: Record<string, unknown>;
  /** The names of its parents, by field, for those that are given by name. */
  parents: readonly (NameColumn & { name: string })[];
}

/**
 * Adds the records of a file by the rules of any write, with their events. The whole file is checked before anything is
 * written.
 *
 * @throws UsageError with all faults, or with the line to continue from
 */
export async function load(store: Store, options: LoadOptions): Promise<Report> {
  if (options.file !== '-') return await loadFile(store, options);
  // It is read twice.
  const folder = mkdtempSync(join(tmpdir(), 'petstore-load-'));
  try {
    const file = join(folder, 'stdin');
    await pipeline(process.stdin, createWriteStream(file, { mode: 0o600 }));
    return await loadFile(store, { ...options, file });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function loadFile(store: Store, options: LoadOptions): Promise<Report> {
  const { record, dryRun } = options;
  const { rows, missing } = await check(store, options);
  const created = [...missing].map(([parent, { size }]) => amount(size, parent)).join(', ');
  const what = `${amount(rows, record)}${created && ` and ${created}`}`;
  const parents = Object.fromEntries([...missing].map(([{ plural }, { size }]) => [plural, size]));
  const value = { kind: record.plural, records: rows, parents, loaded: !dryRun };
  if (dryRun) return { value, lines: [`${what} can be loaded. Nothing was written.`] };
  await write(store, options, missing);
  return { value, lines: [`Loaded ${what}.`] };
}

const count = (number: number): string => number.toLocaleString('en-US');
const amount = (number: number, { kind, plural }: AnyRecord): string =>
  `${count(number)} ${number === 1 ? kind : plural}`;

/** What is found wrong, of which the first are shown. */
class Faults {
  readonly #first: { line: number; message: string }[] = [];
  #count = 0;

  readonly add = (line: number, message: string): void => {
    if (this.#count++ < MAX_FAULTS) this.#first.push({ line, message });
  };

  /** @throws UsageError if there are any */
  refuse(): void {
    if (this.#count === 0) return;
    const more = this.#count > MAX_FAULTS ? [`… and ${count(this.#count - MAX_FAULTS)} more`] : [];
    const faults = this.#count === 1 ? 'one fault' : `${count(this.#count)} faults`;
    const shown = this.#first
      .toSorted((a, b) => a.line - b.line)
      .map(({ line, message }) => `line ${line}: ${message}`);
    throw refused([`Nothing was loaded: ${faults}.`, ...shown, ...more].join('\n'));
  }
}

/** The names of parents that are to be created. */
type Missing = ReadonlyMap<AnyRecord, ReadonlySet<string>>;

/** @returns the number of records to add, and the parents to create */
async function check(store: Store, options: LoadOptions): Promise<{ rows: number; missing: Missing }> {
  const { record, createParents } = options;
  const faults = new Faults();
  const names = new Names(store);
  const missing = new Map<AnyRecord, Set<string>>();
  const chosen = new Set<Id>();
  let rows = 0;
  for await (const batch of batchesOf(options, faults)) {
    rows += batch.length;
    for (const { line, parents } of batch) {
      for (const { column, parent, name } of parents) {
        const found = await names.find(parent, name);
        if (found.length > 1)
          faults.add(line, `${column}: several ${parent.plural} are called ${name}; use ids`);
        else if (found.length === 0 && createParents)
          missing.set(parent, (missing.get(parent) ?? new Set()).add(name));
        else if (found.length === 0)
          faults.add(line, `${column}: there is no ${parent.kind} called ${name}; --create-parents makes it`);
      }
    }
    await checkIds(store, record, batch, chosen, faults);
  }
  faults.refuse();
  return { rows, missing };
}

/** References by id must lead to a record, and chosen ids to none. */
async function checkIds(
  store: Store,
  record: AnyRecord,
  batch: readonly NewRecord[],
  chosen: Set<Id>,
  faults: Faults,
): Promise<void> {
  for (const { field, parent } of referencesOf(record)) {
    const given = batch.filter(
      ({ values, parents }) => values[field] !== undefined && !parents.some((named) => named.field === field),
    );
    const ids = [...new Set(given.map(({ values }) => values[field] as Id))];
    const found = await store.table(parent as AnyRecord).byIds(ids);
    const known = new Set(ids.filter((_, n) => found[n] !== null));
    for (const { line, values } of given)
      if (!known.has(values[field] as Id))
        faults.add(line, `${field}: there is no ${parent.kind} ${values[field]}`);
  }
  const own = batch.filter(({ values }) => values.id !== undefined);
  const taken = await store.table(record).byIds(own.map(({ values }) => values.id as Id));
  for (const [n, { line, values }] of own.entries()) {
    const id = values.id as Id;
    if (taken[n] !== null || chosen.has(id)) faults.add(line, `id: ${id} is taken`);
    chosen.add(id);
  }
}

/** Adds the parents that are missing, then the records, a hundred in a commit. */
async function write(store: Store, options: LoadOptions, missing: Missing): Promise<void> {
  const { record, from, onProgress } = options;
  const names = new Names(store);
  let next = from;
  let loaded = 0;
  let signal: NodeJS.Signals | undefined;
  const stop = (received: NodeJS.Signals) => {
    signal = received;
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const commit = async (work: (tables: Tables) => Promise<void>) => {
    if (signal) throw new Error(`stopped by ${signal}`);
    await store.transaction(work);
    await sleep(PAUSE);
  };
  try {
    for (const [parent, parentNames] of missing)
      for (const some of inBatches([...parentNames]))
        await commit(async (tables) => {
          for (const name of some) await tables.table(parent).insert({ name } as never);
        });
    for await (const batch of batchesOf(options, new Faults())) {
      for (const { values, parents } of batch)
        for (const { field, parent, name } of parents) [values[field]] = await names.find(parent, name);
      await commit((tables) => add(tables, record, batch));
      loaded += batch.length;
      next = batch.at(-1)!.line + 1;
      onProgress(next, loaded);
    }
  } catch (error) {
    throw refused(`${explained(error)}\nLoaded ${amount(loaded, record)}. Continue with --from ${next}.`);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

async function add(tables: Tables, record: AnyRecord, batch: readonly NewRecord[]): Promise<void> {
  for (const { line, values } of batch) {
    try {
      await tables.table(record).insert(values as never);
    } catch (error) {
      if (error instanceof AppError && error.status >= 500) throw error;
      throw new Error(`line ${line}: ${(error as Error).message}`, { cause: error });
    }
  }
}

function* inBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += BATCH_SIZE) yield all.slice(from, from + BATCH_SIZE);
}

/** Records by their names. One that is found is looked up once. */
class Names {
  readonly #store: Store;
  readonly #known = new Map<string, readonly Id[]>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The records of this name, at most two. */
  async find(parent: AnyRecord, name: string): Promise<readonly Id[]> {
    const key = `${parent.plural} ${name}`;
    const found = this.#known.get(key) ?? (await this.#lookUp(parent, name));
    if (found.length > 0) this.#known.set(key, found);
    return found;
  }

  async #lookUp(parent: AnyRecord, name: string): Promise<readonly Id[]> {
    const prefix = folded(name);
    const matching: Id[] = [];
    for (let after: { id: Id; name: string } | undefined; ; ) {
      const order = { field: 'name', descending: false, ...(after && { afterValue: folded(after.name) }) };
      const { items, hasMore } = await this.#store
        .table(parent)
        .page({ name: { prefix } } as never, { limit: PAGE, after: after?.id, order });
      const named = items as unknown as readonly { id: Id; name: string }[];
      for (const item of named) if (item.name === name && matching.length < 2) matching.push(item.id);
      after = named.at(-1);
      // In the order of names, those that are longer come later.
      if (matching.length > 1 || !hasMore || !after || folded(after.name) !== prefix) return matching;
    }
  }
}

/** The valid records of a file from a line on. @param faults gets what is wrong with the others */
async function* batchesOf(
  { record, file, from, createParents }: LoadOptions,
  faults: Faults,
): AsyncGenerator<NewRecord[]> {
  const reader = new RecordReader(record, createParents);
  let batch: NewRecord[] = [];
  for await (const row of rowsOf(file, record, reader.columns, faults.add)) {
    if (row.line < from) continue;
    const read = reader.read(row, faults);
    if (!read) continue;
    batch.push(read);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Checks rows by the rules that the declaration of their record has for input. */
class RecordReader {
  readonly #rules: z.ZodObject;
  readonly #byName: readonly NameColumn[];
  readonly #createParents: boolean;
  /** What a row may have. */
  readonly columns: readonly string[];

  constructor(record: AnyRecord, createParents: boolean) {
    this.#rules = newRules(record.fields, graphqlDialect, record.choosesId);
    this.#byName = referencesOf(record)
      .filter(({ parent }) => (parent as AnyRecord).sorts.includes('name' as never))
      .map(({ field, parent }) => {
        const { name, ...others } = (parent as AnyRecord).fields as Fields;
        return {
          ...{ field, column: `${parentField(field)}.name`, parent: parent as AnyRecord },
          // A rule that is made for each row takes longer than all else.
          rule: name!.rule(graphqlDialect),
          isCreatable: Object.values(others).every(({ presence }) => presence !== 'required'),
        };
      });
    this.#createParents = createParents;
    this.columns = [...Object.keys(this.#rules.shape), ...this.#byName.map(({ column }) => column)];
  }

  /** @returns undefined if the row breaks a rule */
  read({ line, values: given }: Row, faults: Faults): NewRecord | undefined {
    const values: Record<string, unknown> = { ...given };
    const parents: (NameColumn & { name: string })[] = [];
    const issues: { path: string; message: string }[] = [];
    for (const each of this.#byName) {
      const { column, field, parent, rule, isCreatable } = each;
      const { [column]: name } = values;
      delete values[column];
      if (name === undefined || name === null) continue;
      const parsed = rule.safeParse(name);
      if (values[field] !== undefined) issues.push({ path: column, message: `is given beside ${field}` });
      else if (!parsed.success) issues.push({ path: column, message: parsed.error.issues[0]!.message });
      else if (this.#createParents && !isCreatable)
        issues.push({ path: column, message: `a ${parent.kind} can't be created by its name only` });
      else parents.push({ ...each, name: parsed.data as string });
      // Stands for what the name leads to.
      values[field] = '1';
    }
    const { data, error } = this.#rules.safeParse(values);
    issues.push(...(error ? issuesOf(error.issues) : []));
    for (const { path, message } of issues)
      faults.add(
        line,
        message === UNKNOWN_FIELD_RULE
          ? `${path}: is no field. The fields are ${this.columns.join(', ')}`
          : `${path}: ${message}`,
      );
    return issues.length === 0 ? { line, values: data as Record<string, unknown>, parents } : undefined;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type Issue } from '../foundation/errors.ts';
import { folded } from '../foundation/folded.ts';
import type { Id } from '../foundation/id.ts';
import { type AnyRecord, type Fields, newRules, parentField, referencesOf } from '../foundation/record.ts';
import { graphqlDialect, issuesOf } from '../foundation/validation.ts';
import type { Store } from '../store/store.ts';
import type { Tables } from '../store/table.ts';
import { explained, type Report } from './command.ts';
import { inBatches, type OnFault, type Row, readRows } from './load-rows.ts';

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
}

/** A record to add, with the names of parents that are not known in their columns. */
interface NewRecord {
  line: number;
  values: Record<string, unknown>;
}

/** The ids of parents that are to be created, by name, once they are. */
type Missing = Map<AnyRecord, Map<string, Id | undefined>>;

/**
 * Adds the records of a file by the rules of any write, with their events. The whole file is checked before anything is
 * written.
 *
 * @throws Error with all faults, or with the line to continue from
 */
export async function load(store: Store, options: LoadOptions): Promise<Report> {
  const { record, dryRun } = options;
  const named = nameColumnsOf(record);
  const missing: Missing = new Map();
  const records = await check(store, options, named, missing);
  const created = [...missing].map(([parent, { size }]) => amount(size, parent)).join(', ');
  const what = `${amount(records.length, record)}${created && ` and ${created}`}`;
  const parents = Object.fromEntries([...missing].map(([{ plural }, { size }]) => [plural, size]));
  const value = { kind: record.plural, records: records.length, parents, loaded: !dryRun };
  if (dryRun) return { value, lines: [`${what} can be loaded. Nothing was written.`] };
  await write(store, options, records, named, missing);
  return { value, lines: [`Loaded ${what}.`] };
}

/** The columns with names of parents that a file may have. */
const nameColumnsOf = (record: AnyRecord): readonly NameColumn[] =>
  referencesOf(record).flatMap(({ field, ...reference }) => {
    const parent = reference.parent as AnyRecord;
    return parent.sorts.includes('name') ? [{ field, column: `${parentField(field)}.name`, parent }] : [];
  });

const count = (number: number): string => number.toLocaleString('en-US');
const amount = (number: number, { kind, plural }: AnyRecord): string =>
  `${count(number)} ${number === 1 ? kind : plural}`;

/** What is wrong with a line. */
interface Fault {
  line: number;
  message: string;
}

/** @throws Error naming the first faults, if there are any */
function refuse(faults: Fault[]): void {
  if (faults.length === 0) return;
  const shown = faults.sort((a, b) => a.line - b.line).slice(0, MAX_FAULTS);
  const more = faults.length > MAX_FAULTS ? [`… and ${count(faults.length - MAX_FAULTS)} more`] : [];
  const what = faults.length === 1 ? 'one fault' : `${count(faults.length)} faults`;
  const lines = shown.map(({ line, message }) => `line ${line}: ${message}`);
  throw new Error([`Nothing was loaded: ${what}.`, ...lines, ...more].join('\n'));
}

/** @param missing filled with the parents to create @returns the records to add, with the ids of parents that are known */
async function check(
  store: Store,
  { record, file, from, createParents }: LoadOptions,
  named: readonly NameColumn[],
  missing: Missing,
): Promise<NewRecord[]> {
  const faults: Fault[] = [];
  const add: OnFault = (line, message) => faults.push({ line, message });
  const find = namesIn(store);
  const chosen = new Set<Id>();
  const records: NewRecord[] = [];
  const { columns, read } = readerOf(record, named);
  const take = (row: Row) => {
    const next = row.line < from ? undefined : read(row, add);
    if (next) records.push(next);
  };
  await readRows(file, record, columns, take, add);
  for await (const batch of inBatches(records, BATCH_SIZE)) {
    for (const { line, values } of batch) {
      for (const { column, field, parent } of named) {
        const name = values[column] as string | undefined;
        if (name === undefined) continue;
        const [found, another] = await find(parent, name);
        const canCreate = found === undefined && isCreatable(parent);
        values[field] = found;
        if (found !== undefined) delete values[column];
        else if (canCreate && createParents)
          missing.set(parent, (missing.get(parent) ?? new Map()).set(name, undefined));
        else {
          const advice = canCreate ? '; --create-parents makes it' : '';
          add(line, `${column}: there is no ${parent.kind} called ${name}${advice}`);
        }
        if (another !== undefined)
          add(line, `${column}: several ${parent.plural} are called ${name}; use ids`);
      }
    }
    await checkIds(store, record, batch, chosen, add);
  }
  refuse(faults);
  return records;
}

/** Whether a name is all that a record needs. */
const isCreatable = ({ fields: { name, ...others } }: AnyRecord): boolean =>
  Object.values(others as Fields).every(({ presence }) => presence !== 'required');

/** References by id must lead to a record, and chosen ids to none. */
async function checkIds(
  store: Store,
  record: AnyRecord,
  batch: readonly NewRecord[],
  chosen: Set<Id>,
  onFault: OnFault,
): Promise<void> {
  for (const { field, parent } of referencesOf(record)) {
    const given = batch.filter(({ values }) => values[field] !== undefined);
    const ids = [...new Set(given.map(({ values }) => values[field] as Id))];
    const found = await store.table(parent as AnyRecord).byIds(ids);
    const known = new Set(ids.filter((_, n) => found[n] !== null));
    for (const { line, values } of given)
      if (!known.has(values[field] as Id))
        onFault(line, `${field}: there is no ${parent.kind} ${values[field]}`);
  }
  const own = batch.filter(({ values }) => values.id !== undefined);
  const taken = await store.table(record).byIds(own.map(({ values }) => values.id as Id));
  for (const [n, { line, values }] of own.entries()) {
    const id = values.id as Id;
    if (taken[n] !== null || chosen.has(id)) onFault(line, `id: ${id} is taken`);
    chosen.add(id);
  }
}

/** Adds the parents that are missing, then the records, a hundred in a commit. */
async function write(
  store: Store,
  { record, from, onProgress }: LoadOptions,
  records: readonly NewRecord[],
  named: readonly NameColumn[],
  missing: Missing,
): Promise<void> {
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
    for (const [parent, ids] of missing)
      for await (const names of inBatches([...ids.keys()], BATCH_SIZE))
        await commit(async (tables) => {
          for (const name of names) ids.set(name, (await tables.table(parent).insert({ name } as never)).id);
        });
    for await (const batch of inBatches(records, BATCH_SIZE)) {
      for (const { values } of batch)
        for (const { column, field, parent } of named) {
          values[field] ??= missing.get(parent)?.get(values[column] as string);
          delete values[column];
        }
      await commit((tables) => insert(tables, record, batch));
      loaded += batch.length;
      next = batch.at(-1)!.line + 1;
      onProgress(next, loaded);
    }
  } catch (error) {
    throw new Error(`${explained(error)}\nLoaded ${amount(loaded, record)}. Continue with --from ${next}.`);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

async function insert(tables: Tables, record: AnyRecord, batch: readonly NewRecord[]): Promise<void> {
  for (const { line, values } of batch) {
    try {
      await tables.table(record).insert(values as never);
    } catch (error) {
      if (error instanceof AppError && error.status >= 500) throw error;
      throw new Error(`line ${line}: ${(error as Error).message}`, { cause: error });
    }
  }
}

/** Finds records by their names. One that is found is looked up once. */
function namesIn(store: Store): (parent: AnyRecord, name: string) => Promise<readonly Id[]> {
  const known = new Map<string, readonly Id[]>();
  return async (parent, name) => {
    const key = `${parent.plural} ${name}`;
    const before = known.get(key);
    if (before) return before;
    // In the order of names, longer ones that begin with this one come later.
    const { items } = await store.table(parent).page({ name: { prefix: folded(name) } } as never, {
      limit: PAGE,
      order: { field: 'name', descending: false },
    });
    const found = items
      .filter((item) => (item as { name?: unknown }).name === name)
      .map(({ id }) => id as Id);
    known.set(key, found);
    return found;
  };
}

/** Checks rows by the rules that the declaration of their record has for input. */
function readerOf(record: AnyRecord, named: readonly NameColumn[]) {
  const names = named.map(({ column, parent }) => [
    column,
    (parent.fields as Fields).name!.rule(graphqlDialect).optional(),
  ]);
  const rules = newRules(record.fields, graphqlDialect, record.choosesId).extend(Object.fromEntries(names));
  const columns = Object.keys(rules.shape);

  /** @returns undefined if the row breaks a rule */
  const read = ({ line, values }: Row, onFault: OnFault): NewRecord | undefined => {
    const row: Record<string, unknown> = { ...values };
    const issues: Issue[] = [];
    for (const { column, field } of named) {
      if (row[column] === null) delete row[column];
      else if (row[column] !== undefined && row[field] !== undefined)
        issues.push({ path: column, message: `is given beside ${field}` });
      // Stands for what the name leads to.
      else if (row[column] !== undefined) row[field] = '1';
    }
    const { data, error } = rules.safeParse(row);
    issues.push(...issuesOf(error?.issues ?? [], columns));
    for (const { path, message } of issues) onFault(line, `${path}: ${message}`);
    return issues.length > 0 ? undefined : { line, values: data as NewRecord['values'] };
  };
  return { columns, read };
}

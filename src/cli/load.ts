import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { explained, isRefusal } from '../foundation/errors.ts';
import { folded } from '../foundation/folded.ts';
import type { Id } from '../foundation/id.ts';
import { newRules, patchRules } from '../foundation/record-input.ts';
import { type AnyDeclaration, type Fields, referencesOf } from '../foundation/record.ts';
import { graphqlDialect } from '../foundation/validation.ts';
import { counted, grouped } from '../foundation/words.ts';
import { notUnique } from '../store/conflicts.ts';
import type { Values } from '../store/engine.ts';
import { changedFields } from '../store/events.ts';
import type { Load, LoadPosition } from '../store/loads.ts';
import { canonical } from '../store/rules.ts';
import { openDiskSet, type DiskSet } from '../store/seen.ts';
import type { Store } from '../store/store.ts';
import type { Tables } from '../foundation/table.ts';
import type { Report } from './command.ts';
import {
  concurrently,
  isNameEnough,
  type NamedReference,
  Names,
  namedReferencesOf,
  withParents,
} from './load-parents.ts';
import { type Columns, MAX_FAULTS, type OnFault, type Row, readRows } from './load-rows.ts';
import { openSource, type Source } from './load-source.ts';

export interface LoadOptions {
  record: AnyDeclaration;
  /** `-` for standard input. */
  file: string;
  /** True to only check the file. */
  dryRun?: boolean;
  /** The line to continue from; earlier ones are already loaded. */
  from?: number | undefined;
  /** True to create missing parents from their names. */
  createParents?: boolean;
  /** The fields for columns of the file, by column name. */
  map?: ReadonlyMap<string, string>;
  /** True to ignore columns that aren't fields. */
  ignoreUnknown?: boolean;
  /** True to let rows with the ids of existing records change these. */
  update?: boolean;
  /** Called with the next line before each commit, and after the last one. */
  onProgress(next: number, loaded: number, isLast: boolean): void;
  /** Stops loading after the current commit. */
  signal?: AbortSignal;
}

/** The maximum number of new parents that a dry run lists. */
const MAX_NAMED = 20;

/** The numbers of records that a file adds, changes and leaves unchanged, and of parents created for them. */
interface Counts {
  added: number;
  changed: number;
  same: number;
  parents: Map<AnyDeclaration, number>;
}

/** The progress of the second pass. */
interface Written extends Counts {
  /** The line to continue from. */
  line: number;
}

/** The result of the first pass. */
interface Checked extends Counts {
  /** The number of rows that were loaded before. */
  before: number;
  /** The names of the first new parents. */
  newParents: Map<AnyDeclaration, string[]>;
}

const noCounts = (): Counts => ({ added: 0, changed: 0, same: 0, parents: new Map() });

/** Adds the counts of a part to the total. */
function include(whole: Counts, { added, changed, same, parents }: Counts): void {
  whole.added += added;
  whole.changed += changed;
  whole.same += same;
  for (const [parent, n] of parents) increase(whole.parents, parent, n);
}

const increase = <K>(counts: Map<K, number>, key: K, by: number) =>
  counts.set(key, (counts.get(key) ?? 0) + by);

/**
 * Adds the records of a file, under the rules of any write and with events. The file is read twice: all of it is
 * checked before anything is written.
 *
 * @throws Error with the first faults, or with the line to continue from
 */
export async function load(store: Store, options: LoadOptions): Promise<Report> {
  const { record, from, dryRun = false } = options;
  const source = await openSource(options.file);
  const seen = await openDiskSet();
  try {
    const reader = readerOf(source, options, new Names(store), seen);
    const content = `${record.plural} ${source.digest}`;
    const interrupted = from === undefined ? undefined : await store.interruptedLoad(content, from);
    const begun = {
      ...(interrupted ?? { id: randomUUID(), source: content, line: from ?? 1, rows: 0 }),
      process: randomUUID(),
    };
    const checked = await check(store, reader, options, begun.rows);
    if (dryRun) return report(options, checked, checked);
    const written: Written = { ...noCounts(), line: from ?? 1 };
    try {
      await store.filling(record, checked.added, (isAlone) => {
        const commitTime = () => COMMIT_TIMES[isAlone() ? 'alone' : store.engine];
        return write(store, reader, options, begun, written, commitTime);
      });
    } catch (error) {
      const loaded = `Loaded ${amount(loadedBy(written), record)}. Continue with --from ${written.line}.`;
      throw new Error(`${explained(error)}\n${loaded}`, { cause: error });
    }
    return report(options, checked, written);
  } finally {
    seen.close();
    await source.close();
  }
}

function report({ record, dryRun = false, update }: LoadOptions, checked: Checked, done: Counts): Report {
  const { added, changed, same, parents } = done;
  const value = {
    kind: record.plural,
    records: added,
    changed,
    same,
    loaded: !dryRun,
    parents: Object.fromEntries([...parents].map(([{ plural }, n]) => [plural, n])),
  };
  const additions = [[record, added] as const, ...parents].map(([kind, n]) => amount(n, kind)).join(' and ');
  const unchanged = same === 0 ? '' : `; ${amount(same, record)} had the same values already`;
  if (dryRun) {
    const changes = update ? ` and ${amount(changed, record)} to change` : '';
    const newParents = [...checked.newParents].map(([kind, first]) => {
      const more = parents.get(kind)! - first.length;
      return `New ${kind.plural}: ${first.join(', ')}${more > 0 ? `, … and ${grouped(more)} more` : ''}.`;
    });
    const summary = `${additions}${changes} can be loaded${unchanged}. Nothing was written.`;
    return { value, lines: [summary, ...newParents] };
  }
  const before = `${amount(checked.before, record)} of it had been loaded before it was interrupted.`;
  const changes = update ? `, changed ${amount(changed, record)}` : '';
  const summary = `Loaded ${additions}${changes}${unchanged}.`;
  return { value, lines: checked.before > 0 ? [before, summary] : [summary] };
}

const amount = (number: number, { kind, plural }: AnyDeclaration): string => counted(number, kind, plural);

/**
 * Reads the rows of a file under the input rules of its record's declaration.
 *
 * @param seen gets the ids, new parents and unique combinations of the file in the first pass
 */
function readerOf(
  source: Source,
  { record, map = new Map(), ignoreUnknown = false, update = false }: LoadOptions,
  parentNames: Names,
  seen: DiskSet,
) {
  const named = namedReferencesOf(record);
  const namedRules = Object.fromEntries(
    named.map(({ column, parent }) => [
      column,
      graphqlDialect.optional((parent.fields as Fields).name!.rule(graphqlDialect)),
    ]),
  );
  const takesId = record.choosesId || update;
  const rules = newRules(record.fields, graphqlDialect, takesId).extend(namedRules);
  const changeRules = patchRules({ id: record.id, ...record.fields }, graphqlDialect).extend(namedRules);
  const names = Object.keys(rules.shape);
  const checkNew = fieldwise(rules);
  const checkChange = fieldwise(changeRules);
  for (const [column, field] of map)
    if (!names.includes(field))
      throw new Error(`--map ${column}=${field}: ${field} is none of ${names.join(', ')}.`);
  const columns: Columns = { fields: { id: record.id, ...record.fields }, names, map, ignoreUnknown };

  return {
    named,
    seen,
    read: (onFault: OnFault) => readRows(source, columns, onFault),

    /**
     * Checks each row on its own. Returns valid rows with parsed values, in which names are not resolved to ids yet.
     *
     * @param ids the ids of records that rows change
     */
    accepted(rows: readonly Row[], ids: ReadonlySet<Id>, onFault: OnFault): Row[] {
      return rows.filter((row) => {
        const { values } = row;
        const byName = named.filter(({ column }) => values[column] != null);
        for (const { column, field } of byName)
          if (values[field] !== undefined) onFaultOf(row, onFault)(`${column}: is given beside ${field}`);
          // A placeholder for the record that the name refers to.
          else values[field] = '1';
        const checkRow = ids.has(String(values.id)) ? checkChange : checkNew;
        const parsed = checkRow(values, onFaultOf(row, onFault));
        if (!parsed) return false;
        row.values = parsed;
        for (const { field } of byName) delete row.values[field];
        return true;
      });
    },

    /** Replaces names that match one record by its id. @returns the other names, with their rows */
    async resolve(rows: readonly Row[]) {
      const unresolved: { row: Row; name: string; called: 'several' | 'none'; reference: NamedReference }[] =
        [];
      for (const reference of named) {
        const { field, column, parent } = reference;
        const byName = rows.filter(({ values }) => values[column] !== undefined);
        const records = await parentNames.find(parent, namesIn(byName, column));
        for (const row of byName) {
          const name = row.values[column] as string;
          const called = records.get(name)!;
          if (typeof called === 'string') {
            unresolved.push({ row, name, called, reference });
            continue;
          }
          row.values[field] = called.id;
          delete row.values[column];
        }
      }
      return unresolved;
    },
  };
}

type Reader = ReturnType<typeof readerOf>;

/** The maximum number of results that are kept for a field. */
const MAX_KEPT = 1_000;
/** The maximum length of a value whose result is kept. */
const MAX_KEPT_LENGTH = 100;

/**
 * Checks the fields of an object one by one. Files repeat most values, and finding a result takes a tenth of the time
 * of a rule, and no memory.
 *
 * @returns a function that returns the parsed values; undefined if a field has a fault
 */
function fieldwise({ shape }: z.ZodObject) {
  const fields = Object.entries<z.ZodType>(shape as never).map(([name, rule]) => ({
    name,
    rule,
    kept: new Map<unknown, unknown>(),
  }));
  return (values: Row['values'], refuse: (message: string) => void): Row['values'] | undefined => {
    const parsed: Row['values'] = {};
    let isValid = true;
    for (const { name, rule, kept } of fields) {
      const value = values[name];
      let result = kept.get(value);
      if (result === undefined && !kept.has(value)) {
        const { data, error } = rule.safeParse(value);
        for (const { path, message } of error?.issues ?? [])
          refuse(`${[name, ...path].join('.')}: ${message}`);
        isValid &&= !error;
        result = data;
        const isShort = typeof value !== 'object' && String(value).length <= MAX_KEPT_LENGTH;
        if (!error && isShort && kept.size < MAX_KEPT) kept.set(value, result);
      }
      if (result !== undefined) parsed[name] = result;
    }
    return isValid ? parsed : undefined;
  };
}

const onFaultOf =
  ({ line, item }: Row, onFault: OnFault) =>
  (message: string): void =>
    onFault(line, item === undefined ? message : `item ${item}: ${message}`);

const hasId = ({ values }: Row): boolean => values.id != null;
const namesIn = (rows: readonly Row[], column: string): Set<string> =>
  new Set(rows.map(({ values }) => values[column] as string));

/** The existing records with the ids in a field of some rows, by id. */
async function recordsOf(
  tables: Tables,
  kind: AnyDeclaration,
  rows: readonly Row[],
  field = 'id',
): Promise<Map<Id, Values>> {
  const ids = new Set(rows.map(({ values }) => String(values[field] ?? '')));
  const wanted = [...ids].filter((id) => /^[1-9]\d{0,18}$/.test(id));
  const stored = wanted.length > 0 ? await tables.table(kind).byIds(wanted) : [];
  return new Map(stored.flatMap((one) => (one ? [[one.id as Id, one]] : [])));
}

/**
 * The first pass: checks the file without writing.
 *
 * @param done the number of rows that are loaded already
 * @throws Error with the first faults, if any
 */
async function check(store: Store, reader: Reader, options: LoadOptions, done: number): Promise<Checked> {
  const faults = new Faults();
  const onFault: OnFault = (line, message) => faults.add(line, message);
  const checked: Checked = { ...noCounts(), before: 0, newParents: new Map() };
  for await (const rows of reader.read(onFault)) {
    if (options.signal?.aborted) throw new Error(`${explained(options.signal.reason)}\nNothing was loaded.`);
    const asked = rows.filter(({ line }) => line >= (options.from ?? 1));
    const wanted = asked.filter(({ index }) => index >= done);
    checked.before += asked.length - wanted.length;
    await checkBatch(store, reader, options, wanted, { checked, onFault });
    faults.endBatch();
  }
  faults.throwIfAny();
  return checked;
}

/** The state of the first pass across batches. */
interface Pass {
  checked: Checked;
  onFault: OnFault;
}

/** Stands for the id of a parent that is yet to be created. */
const NEW = 'new';

async function checkBatch(
  store: Store,
  reader: Reader,
  options: LoadOptions,
  wanted: readonly Row[],
  { checked, onFault }: Pass,
): Promise<void> {
  const { record, createParents = false, update = false } = options;
  const there = await recordsOf(store, record, wanted);
  const isThere = ({ values }: Row): boolean => there.has(String(values.id));
  const acceptable = wanted.filter((row) => {
    const isKnown = record.choosesId || !hasId(row) || isThere(row);
    if (!isKnown) onFaultOf(row, onFault)(`id: there is no ${record.kind} ${row.values.id}`);
    return isKnown;
  });
  const rows = reader.accepted(acceptable, new Set(update ? there.keys() : []), onFault);
  const chosen = rows.filter(hasId);
  const twice = reader.seen.addAll(chosen.map(({ values }) => String(values.id)));
  for (const [n, row] of chosen.entries()) {
    const refuse = onFaultOf(row, onFault);
    if (twice[n]) refuse(`id: ${row.values.id} is on an earlier line too`);
    else if (isThere(row) && !update)
      refuse(`id: ${row.values.id} is taken; --update changes the ${record.kind} that has it`);
  }

  for (const { row, name, called, reference } of await reader.resolve(rows)) {
    const { field, column, parent } = reference;
    const refuse = (message: string) => onFaultOf(row, onFault)(`${column}: ${message}`);
    const canCreate = isNameEnough(parent);
    if (called === 'several') refuse(`several ${parent.plural} are called ${name}; use ids`);
    else if (!canCreate || !createParents)
      refuse(`there is no ${parent.kind} called ${name}${canCreate ? '; --create-parents makes it' : ''}`);
    else if (!reader.seen.addAll([`${parent.plural} ${folded(name)}`])[0]) {
      increase(checked.parents, parent, 1);
      const first = checked.newParents.get(parent) ?? [];
      if (first.length < MAX_NAMED) checked.newParents.set(parent, [...first, name]);
    }
    // References to new parents are valid.
    row.values[field] = NEW;
  }
  for (const { field, parent } of referencesOf(record)) {
    const parents = await recordsOf(store, parent, rows, field);
    for (const row of rows) {
      const id = row.values[field] as Id | null | undefined;
      if (id != null && id !== NEW && !parents.has(id))
        onFaultOf(row, onFault)(`${field}: there is no ${parent.kind} ${id}`);
    }
  }

  const added: Row[] = [];
  for (const row of rows) {
    const current = hasId(row) ? there.get(row.values.id as Id) : undefined;
    row.values = { id: row.values.id, ...canonical(record, row.values, current ?? {}) };
    for (const { path, message } of record.rules(row.values as never))
      onFaultOf(row, onFault)(`${path}: ${message}`);
    if (!current) added.push(row);
    else if (changedFields(record, current, row.values).length > 0) checked.changed++;
    else checked.same++;
  }
  for (const fields of record.unique as readonly (readonly string[])[]) {
    const whole = added.filter(({ values }) => fields.every((field) => values[field] !== undefined));
    const same = whole.map(({ values }) => Object.fromEntries(fields.map((field) => [field, values[field]])));
    const repeated = reader.seen.addAll(same.map((values) => `${fields} ${JSON.stringify(values)}`));
    // With --update, rows may free the values of other records.
    const held = await concurrently(update ? [] : same, async (values) => {
      if (Object.values(values).includes(NEW)) return false;
      return (await store.table(record).page(values as never, { limit: 1 })).items.length > 0;
    });
    for (const [n, row] of whole.entries())
      if (repeated[n] || held[n]) onFaultOf(row, onFault)(notUnique(record, fields).message);
  }
  checked.added += added.length;
}

/** The first faults of a file, and their total number. */
class Faults {
  #first: string[] = [];
  #batch: { line: number; message: string }[] = [];
  #count = 0;

  add(line: number, message: string): void {
    this.#count++;
    if (this.#first.length < MAX_FAULTS) this.#batch.push({ line, message });
  }

  /** Sorts the faults of a batch by line; those of later batches are on later lines. */
  endBatch(): void {
    const lines = this.#batch
      .sort((a, b) => a.line - b.line)
      .map(({ line, message }) => `line ${line}: ${message}`);
    this.#first.push(...lines.slice(0, MAX_FAULTS - this.#first.length));
    this.#batch = [];
  }

  throwIfAny(): void {
    this.endBatch();
    if (this.#count === 0) return;
    const more = this.#count - this.#first.length;
    const what = this.#count === 1 ? 'one fault' : `${grouped(this.#count)} faults`;
    throw new Error(
      [
        `Nothing was loaded: ${what}.`,
        ...this.#first,
        ...(more > 0 ? [`… and ${grouped(more)} more`] : []),
      ].join('\n'),
    );
  }
}

/**
 * The second pass: adds the records, many per commit, and missing parents.
 *
 * @param written gets what is committed so far
 */
async function write(
  store: Store,
  reader: Reader,
  options: LoadOptions,
  begun: Omit<Load, 'expiresAt'>,
  written: Written,
  commitTime: () => number,
): Promise<void> {
  const { record, update, from = 1, onProgress, signal } = options;
  const load = await store.beginLoad(begun);
  const { rows: done } = load;
  let waiting: Row[] = [];
  let last = from - 1;
  let most = FIRST_COMMITTED;
  /** Commits as many of the waiting rows as fit in the time. */
  const flush = async (): Promise<void> => {
    signal?.throwIfAborted();
    written.line = waiting[0]!.line;
    onProgress(written.line, loadedBy(written), false);
    const rows = waiting.slice(0, most);
    const next = waiting[most]?.line ?? last + 1;
    const { count, line, ...counts } = await commit(store, load, reader, options, rows, next, commitTime);
    include(written, counts);
    written.line = line;
    waiting = waiting.slice(count);
    most = Math.min(2 * most, MAX_COMMITTED);
    await sleep(PAUSE);
  };
  const refuse: OnFault = (line, message) => {
    throw new Error(`line ${line}: ${message}`);
  };
  for await (const rows of reader.read(refuse)) {
    const wanted = rows.filter(({ index, line }) => index >= done && line >= from);
    last = rows.at(-1)?.line ?? last;
    const there = update ? await recordsOf(store, record, wanted) : new Map<Id, Values>();
    const accepted = reader.accepted(wanted, new Set(there.keys()), refuse);
    await reader.resolve(accepted);
    waiting.push(...accepted);
    while (waiting.length > most) await flush();
  }
  while (waiting.length > 0) await flush();
  written.line = last + 1;
  onProgress(written.line, loadedBy(written), true);
}

const loadedBy = ({ added, changed, same }: Counts): number => added + changed + same;

/** The time after which a commit ends, in milliseconds. */
const COMMIT_TIMES: Record<Store['engine'] | 'alone', number> = {
  /** Long, to write fewer index pages twice. Other commands and the start of a server wait for a commit. */
  alone: 1_000,
  /** Short, since the writes of a server on the same file wait for each commit. */
  sqlite: 40,
  /** Much less than the timeout of a call. */
  mongodb: 2_000,
};
/** The maximum number of rows in a commit. More only take memory and garbage collection. */
const MAX_COMMITTED = 5_000;
/** The pause between commits, in which others may write, in milliseconds. */
const PAUSE = 5;
/** The number of rows in the first commit, to show progress early; it doubles with each commit. */
const FIRST_COMMITTED = 250;
/** The number of rows that a commit writes together. */
const WRITTEN_AT_ONCE = 500;

/** A committed part of a load. */
interface Committed extends Counts, LoadPosition {
  /** The number of rows. */
  count: number;
}

/**
 * Commits rows and their missing parents, together with the position after them.
 *
 * @param rows the rows to commit, of which it takes as many as fit in the time
 * @param next the line after the rows
 */
async function commit(
  store: Store,
  load: Load,
  { named, seen }: Reader,
  { record, update, createParents = false }: LoadOptions,
  rows: readonly Row[],
  next: number,
  commitTime: () => number,
): Promise<Committed> {
  const writeSome = async (tables: Tables, some: readonly Row[]): Promise<Counts> => {
    const counts = noCounts();
    let inputs: readonly Values[] = some.map(({ values }) => values);
    for (const reference of named) {
      const { created, rows } = await withParents(tables, reference, inputs, createParents);
      inputs = rows;
      if (created > 0) increase(counts.parents, reference.parent, created);
    }
    const table = tables.table(record);
    const there = update ? await recordsOf(tables, record, some) : new Map<unknown, Values>();
    for (const values of inputs) {
      const before = there.get(values.id);
      if (!before) continue;
      const after = await table.update(values.id as Id, values as never);
      if (changedFields(record, before, after as Values).length > 0) counts.changed++;
      else counts.same++;
    }
    const added = inputs.filter(({ id }) => !there.has(id));
    // A later row of the file may have chosen an id.
    await table.insertAll(added as never, record.choosesId ? seen.those : undefined);
    counts.added += added.length;
    return counts;
  };
  /** The number of rows written, before any that is refused. */
  let count = 0;
  const writeAll = async (tables: Tables): Promise<Committed> => {
    const counts = noCounts();
    const began = performance.now();
    count = 0;
    do {
      const some = rows.slice(count, count + WRITTEN_AT_ONCE);
      include(counts, await writeSome(tables, some));
      count += some.length;
    } while (count < rows.length && performance.now() - began < commitTime());
    return { ...counts, count, line: rows[count]?.line ?? next, rows: rows[count - 1]!.index + 1 };
  };
  // Of two loads that create the same parent, one must see the other's.
  const lacksParents = rows.some(({ values }) => named.some(({ column }) => values[column] !== undefined));
  try {
    return await store.continueLoad(load, writeAll, lacksParents);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Finds the refused row by adding them one by one.
    return await store.continueLoad(load, async (tables) => {
      if (count > 0) await writeSome(tables, rows.slice(0, count));
      for (const row of rows.slice(count))
        await writeSome(tables, [row]).catch((refusal: Error) => {
          // Any other error is not about the row, and the database may run the transaction again.
          if (!isRefusal(refusal)) throw refusal;
          throw new Error(`line ${row.line}: ${explained(refusal)}`, { cause: refusal });
        });
      throw error;
    });
  }
}

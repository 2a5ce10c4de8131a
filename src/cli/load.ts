import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal } from '../foundation/errors.ts';
import { folded } from '../foundation/folded.ts';
import type { Id } from '../foundation/id.ts';
import { newRules, patchRules } from '../foundation/record-input.ts';
import { type AnyRecord, type Fields, referencesOf } from '../foundation/record.ts';
import { graphqlDialect, issuesOf } from '../foundation/validation.ts';
import type { Load } from '../store/loads.ts';
import { canonical } from '../store/rules.ts';
import { openSeen, type Seen } from '../store/seen.ts';
import type { Store } from '../store/store.ts';
import type { Tables } from '../foundation/table.ts';
import { explained, type Report } from './command.ts';
import { isNameEnough, Names, namedReferencesOf, recordCalled } from './load-parents.ts';
import { type Columns, type OnFault, type Row, readRows } from './load-rows.ts';
import { openSource, type Source } from './load-source.ts';

export interface LoadOptions {
  record: AnyRecord;
  /** `-` for standard input. */
  file: string;
  /** Only check. */
  dryRun?: boolean;
  /** The line to continue from: those before it are already loaded. */
  from?: number | undefined;
  /** True if missing parents are created from their names. */
  createParents?: boolean;
  /** The names of columns in the file, and the fields that they fill. */
  map?: ReadonlyMap<string, string>;
  /** True if columns that aren't fields are ignored. */
  ignoreUnknown?: boolean;
  /** True if a row with the id of an existing record changes that record. */
  update?: boolean;
  /** Called with the line before each commit, and after the last one. */
  onProgress(next: number, loaded: number, isLast: boolean): void;
  /** Stops loading after the current commit. */
  signal?: AbortSignal;
}

const MAX_FAULTS = 50;
/** Parents of a file that are created, at most: their names are held in memory. */
const MAX_NEW_PARENTS = 50_000;
/** New parents that a dry run names. */
const MAX_NAMED = 20;
/** Parents created in a commit. */
const PARENTS_AT_ONCE = 100;

/** A parent whose name no record has. */
interface NewParent {
  parent: AnyRecord;
  name: string;
}

/** The result of the first pass over a file. */
interface Checked {
  /** Rows to be added and to be changed. */
  added: number;
  changed: number;
  parents: NewParent[];
}

/**
 * Adds the records of a file by the rules of any write, with their events. It is read twice: all of it is checked before
 * anything is written.
 *
 * @throws Error with the first faults, or with the line to continue from
 */
export async function load(store: Store, options: LoadOptions): Promise<Report> {
  const { record, dryRun = false } = options;
  const source = await openSource(options.file);
  try {
    const reader = readerOf(source, options);
    const content = `${record.plural} ${source.digest}`;
    const { from } = options;
    const interrupted = from === undefined ? undefined : await store.interruptedLoad(content, from);
    const load = interrupted ?? { id: randomUUID(), owner: '', source: content, line: from ?? 1, rows: 0 };
    const checked = await check(store, reader, options, load.rows);
    const created = new Map<AnyRecord, string[]>();
    for (const { parent, name } of checked.parents)
      created.set(parent, [...(created.get(parent) ?? []), name]);
    const kinds = [...created].map(([kind, names]) => [kind, names.length] as const);
    const parents = Object.fromEntries(kinds.map(([{ plural }, n]) => [plural, n]));
    const value = { kind: record.plural, records: checked.added, changed: checked.changed, parents };
    const amounts = (added: number) =>
      [[record, added] as const, ...kinds].map(([kind, n]) => amount(n, kind));
    const changes = (changed: number) => (options.update ? [`${amount(changed, record)} to change`] : []);
    if (dryRun) {
      const names = [...created].map(([{ plural }, all]) => {
        const more = all.length > MAX_NAMED ? `, … and ${count(all.length - MAX_NAMED)} more` : '';
        return `New ${plural}: ${all.slice(0, MAX_NAMED).join(', ')}${more}.`;
      });
      const what = [...amounts(checked.added), ...changes(checked.changed)].join(' and ');
      return {
        value: { ...value, loaded: false },
        lines: [`${what} can be loaded. Nothing was written.`, ...names],
      };
    }
    const owned = { ...load, owner: randomUUID() };
    const written = await store.filling(record, checked.added, (isAlone) =>
      write(store, reader, options, checked.parents, owned, new Pace(store, isAlone)),
    );
    const what = amounts(written.added).join(' and ');
    const changed = options.update ? `, changed ${amount(written.changed, record)}` : '';
    const before =
      written.before > 0
        ? [`${amount(written.before, record)} of it had been loaded before it was interrupted.`]
        : [];
    return { value: { ...value, loaded: true }, lines: [...before, `Loaded ${what}${changed}.`] };
  } finally {
    await source.close();
  }
}

const count = (number: number): string => number.toLocaleString('en-US');
const amount = (number: number, { kind, plural }: AnyRecord): string =>
  `${count(number)} ${number === 1 ? kind : plural}`;

function* batches<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let n = 0; n < items.length; n += size) yield items.slice(n, n + size);
}

/** Reads the rows of a file by the input rules of its record's declaration. */
function readerOf(
  source: Source,
  { record, map = new Map(), ignoreUnknown = false, update = false }: LoadOptions,
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
  for (const [column, field] of map)
    if (!names.includes(field))
      throw new Error(`--map ${column}=${field}: ${field} is none of ${names.join(', ')}.`);
  const columns: Columns = { fields: { id: record.id, ...record.fields }, names, map, ignoreUnknown };

  return {
    named,
    read: (onFault: OnFault) => readRows(source, columns, onFault),

    /** Checks rows one by one, and passes on their parsed values. @param ids of records that rows change */
    accepted(rows: readonly Row[], ids: ReadonlySet<Id>, onFault: OnFault): Row[] {
      return rows.filter((row) => {
        const { values } = row;
        for (const { column, field } of named) {
          if (values[column] == null) continue;
          if (values[field] !== undefined) onFaultOf(row, onFault)(`${column}: is given beside ${field}`);
          // A placeholder for the record that the name refers to.
          else values[field] = '1';
        }
        const rule = ids.has(String(values.id)) ? changeRules : rules;
        const { data, error } = rule.safeParse(values);
        for (const { path, message } of issuesOf(error?.issues ?? [], names))
          onFaultOf(row, onFault)(`${path}: ${message}`);
        row.values = data as Row['values'];
        return !error;
      });
    },
  };
}

type Reader = ReturnType<typeof readerOf>;

const onFaultOf =
  ({ line, item }: Row, onFault: OnFault) =>
  (message: string): void =>
    onFault(line, item === undefined ? message : `item ${item}: ${message}`);

/** The ids of rows that existing records have. */
async function idsThere(tables: Tables, kind: AnyRecord, ids: Iterable<unknown>): Promise<Set<Id>> {
  const wanted = [...new Set(ids)].filter((id) => /^[1-9]\d{0,18}$/.test(String(id))).map(String);
  const there = new Set<Id>();
  for (const batch of batches(wanted, PARENTS_AT_ONCE * 10))
    for (const record of await tables.table(kind).byIds(batch)) if (record) there.add(record.id as Id);
  return there;
}

/**
 * The first pass.
 *
 * @param done rows that are loaded already
 * @throws Error naming the first faults, if there are any
 */
async function check(store: Store, reader: Reader, options: LoadOptions, done: number): Promise<Checked> {
  const faults = new Faults();
  const onFault: OnFault = (line, message) => faults.add(line, message);
  const names = new Names(store);
  const parents = new Map<string, NewParent>();
  const checked = { added: 0, changed: 0 };
  let seen: Seen | undefined;
  try {
    for await (const rows of reader.read(onFault)) {
      if (options.signal?.aborted)
        throw new Error(`${explained(options.signal.reason)}\nNothing was loaded.`);
      const wanted = rows.filter(({ index, line }) => index >= done && line >= (options.from ?? 1));
      seen ??= wanted.some(hasId) ? await openSeen() : undefined;
      const { added, changed } = await checkBatch(
        store,
        reader,
        options,
        wanted,
        names,
        parents,
        seen,
        onFault,
      );
      checked.added += added;
      checked.changed += changed;
      faults.endBatch();
      if (parents.size > MAX_NEW_PARENTS)
        throw new Error(
          `Nothing was loaded: the file names more than ${count(MAX_NEW_PARENTS)} parents that there are not. Load those first.`,
        );
    }
  } finally {
    seen?.close();
  }
  faults.throwIfAny();
  return { ...checked, parents: [...parents.values()] };
}

const hasId = ({ values }: Row): boolean => values.id != null;

async function checkBatch(
  store: Store,
  reader: Reader,
  { record, createParents = false, update = false }: LoadOptions,
  wanted: readonly Row[],
  names: Names,
  parents: Map<string, NewParent>,
  seen: Seen | undefined,
  onFault: OnFault,
): Promise<{ added: number; changed: number }> {
  const withIds = wanted.filter(hasId);
  const there = await idsThere(
    store,
    record,
    withIds.map(({ values }) => values.id),
  );
  const isThere = ({ values }: Row): boolean => there.has(String(values.id));
  const rows = reader.accepted(
    record.choosesId ? wanted : wanted.filter((row) => !hasId(row) || isThere(row)),
    update ? there : new Set(),
    onFault,
  );
  for (const row of record.choosesId ? [] : withIds.filter((row) => !isThere(row)))
    onFaultOf(row, onFault)(`id: there is no ${record.kind} ${row.values.id}`);
  const chosen = rows.filter(hasId);
  const twice = seen?.addAll(chosen.map(({ values }) => String(values.id))) ?? [];
  for (const [n, row] of chosen.entries())
    if (twice[n] || (isThere(row) && !update)) onFaultOf(row, onFault)(`id: ${row.values.id} is taken`);
  for (const { field, column, parent } of reader.named) {
    const called = await names.find(parent, namesIn(rows, column));
    for (const row of rows) {
      const name = row.values[column] as string | undefined;
      if (name === undefined) continue;
      const found = called.get(name)!;
      const canCreate = found === 'none' && isNameEnough(parent);
      if (found === 'several')
        onFaultOf(row, onFault)(`${column}: several ${parent.plural} are called ${name}; use ids`);
      else if (found === 'none' && !(canCreate && createParents))
        onFaultOf(
          row,
          onFault,
        )(
          `${column}: there is no ${parent.kind} called ${name}${canCreate ? '; --create-parents makes it' : ''}`,
        );
      else if (found === 'none') {
        const key = `${parent.plural} ${folded(name)}`;
        if (!parents.has(key)) parents.set(key, { parent, name });
      }
      if (found !== 'several') row.values[field] = found === 'none' ? undefined : found.id;
      // A record with a new parent has a parent.
      if (found === 'none') row.values[field] = NEW;
      delete row.values[column];
    }
  }
  for (const { field, parent } of referencesOf(record)) {
    const ids = await idsThere(store, parent, idsIn(rows, field));
    for (const row of rows) {
      const id = row.values[field] as Id | undefined;
      if (id !== undefined && id !== NEW && !ids.has(id))
        onFaultOf(row, onFault)(`${field}: there is no ${parent.kind} ${id}`);
    }
  }
  const changes = rows.filter((row) => hasId(row) && there.has(row.values.id as Id));
  const current = new Map(
    changes.length === 0
      ? []
      : (await store.table(record).byIds(changes.map(({ values }) => values.id as Id))).map((one) => [
          one?.id,
          one,
        ]),
  );
  for (const row of rows) {
    const before = current.get(row.values.id as Id) ?? {};
    for (const { path, message } of record.rules(canonical(record, row.values, before) as never))
      onFaultOf(row, onFault)(`${path}: ${message}`);
  }
  return { added: rows.length - changes.length, changed: changes.length };
}

/** A placeholder for the id of a parent that is yet to be created. */
const NEW = 'new';

const namesIn = (rows: readonly Row[], column: string): Set<string> =>
  new Set(rows.map(({ values }) => values[column] as string).filter((name) => name !== undefined));
const idsIn = (rows: readonly Row[], field: string): Set<unknown> =>
  new Set(rows.map(({ values }) => values[field]).filter((id) => id !== undefined && id !== NEW));

/** The first faults of a file, and their total number. */
class Faults {
  #first: string[] = [];
  #batch: { line: number; message: string }[] = [];
  #count = 0;

  add(line: number, message: string): void {
    this.#count++;
    if (this.#first.length < MAX_FAULTS) this.#batch.push({ line, message });
  }

  /** Faults of later batches are on later lines. */
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
    const what = this.#count === 1 ? 'one fault' : `${count(this.#count)} faults`;
    throw new Error(
      [
        `Nothing was loaded: ${what}.`,
        ...this.#first,
        ...(more > 0 ? [`… and ${count(more)} more`] : []),
      ].join('\n'),
    );
  }
}

/** The second pass: adds the parents that are missing, then the records, many in a commit. */
async function write(
  store: Store,
  reader: Reader,
  options: LoadOptions,
  parents: readonly NewParent[],
  begun: Omit<Load, 'expiresAt'>,
  pace: Pace,
): Promise<{ added: number; changed: number; before: number }> {
  const { record, onProgress, signal } = options;
  const written = { added: 0, changed: 0, before: 0 };
  let line = options.from ?? 1;
  try {
    let load = await store.beginLoad(begun);
    const { rows: done } = load;
    const names = new Names(store);
    const flush = async (rows: Row[], next: number): Promise<void> => {
      signal?.throwIfAborted();
      line = rows[0]!.line;
      onProgress(line, written.added + written.changed, false);
      const position = { ...load, line: next, rows: rows.at(-1)!.index + 1 };
      const outcome = await pace.commit(() => commit(store, position, options, rows));
      load = position;
      line = next;
      written.added += outcome.added;
      written.changed += outcome.changed;
    };
    let waiting: Row[] = [];
    let last = line - 1;
    const refuse: OnFault = (line, message) => {
      throw new Error(`line ${line}: ${message}`);
    };
    let areParentsThere = parents.length === 0;
    for await (const rows of reader.read(refuse)) {
      const wanted = rows.filter(({ index, line }) => index >= done && line >= (options.from ?? 1));
      written.before += rows.filter(({ index, line }) => index < done && line >= (options.from ?? 1)).length;
      last = rows.at(-1)?.line ?? last;
      if (wanted.length === 0) continue;
      if (!areParentsThere) {
        onProgress(wanted[0]!.line, 0, false);
        await createParents(store, load, parents);
        areParentsThere = true;
      }
      const there = options.update
        ? await idsThere(
            store,
            record,
            wanted.map(({ values }) => values.id),
          )
        : new Set<Id>();
      waiting.push(...(await withParents(reader, names, reader.accepted(wanted, there, refuse), refuse)));
      while (waiting.length > pace.size) {
        const batch = waiting.slice(0, pace.size);
        waiting = waiting.slice(pace.size);
        await flush(batch, waiting[0]!.line);
      }
    }
    if (waiting.length > 0) await flush(waiting, last + 1);
    onProgress(last + 1, written.added + written.changed, true);
    return written;
  } catch (error) {
    const loaded = amount(written.added + written.changed, record);
    throw new Error(`${explained(error)}\nLoaded ${loaded}. Continue with --from ${line}.`, { cause: error });
  }
}

/**
 * The number of rows in a commit: on an embedded store, few enough to delay a server on the same store for a moment
 * only.
 */
class Pace {
  size: number;
  readonly #commitTime: number | undefined;
  readonly #pause: number;

  /** @param isAlone whether no other process uses the store */
  constructor({ engine }: Store, isAlone: boolean) {
    this.#pause = engine === 'sqlite' && !isAlone ? PAUSE : 0;
    this.size = isAlone ? MAX_COMMITTED : 500;
    this.#commitTime = engine === 'sqlite' ? (isAlone ? 500 : COMMIT_TIME) : undefined;
  }

  async commit<T>(work: () => Promise<T>): Promise<T> {
    const began = performance.now();
    const result = await work();
    if (this.#commitTime !== undefined) {
      const change = Math.min(2, this.#commitTime / (performance.now() - began));
      this.size = Math.round(Math.min(MAX_COMMITTED, Math.max(MIN_COMMITTED, this.size * change)));
    }
    if (this.#pause > 0) await sleep(this.#pause);
    return result;
  }
}

/** Milliseconds that a commit takes beside a running server, and that pass between two. */
const COMMIT_TIME = 25;
const PAUSE = 2;
/** Rows in a commit. */
const [MIN_COMMITTED, MAX_COMMITTED] = [100, 5_000];

/** Puts ids in place of names. */
async function withParents(reader: Reader, names: Names, rows: Row[], onFault: OnFault): Promise<Row[]> {
  for (const { field, column, parent } of reader.named) {
    const called = await names.find(parent, namesIn(rows, column));
    for (const row of rows) {
      const name = row.values[column] as string | undefined;
      if (name === undefined) continue;
      const found = called.get(name)!;
      if (typeof found === 'string')
        onFault(
          row.line,
          `${column}: ${found === 'none' ? 'no' : found} ${parent.plural} are called ${name} any more`,
        );
      else row.values[field] = found.id;
      delete row.values[column];
    }
  }
  return rows;
}

/** Creates the parents that still don't exist. */
async function createParents(store: Store, load: Load, parents: readonly NewParent[]): Promise<void> {
  for (const batch of batches(parents, PARENTS_AT_ONCE))
    await store.continueLoad(
      load,
      async (tables) => {
        for (const { parent, name } of batch)
          if ((await recordCalled(tables, parent, name)) === 'none')
            await tables.table(parent).insert({ name } as never);
      },
      true,
    );
}

/** Commits rows together with the position after them. */
async function commit(store: Store, position: Load, { record, update }: LoadOptions, rows: readonly Row[]) {
  const write = async (tables: Tables, some: readonly Row[]) => {
    const table = tables.table(record);
    const ids = update
      ? await idsThere(
          tables,
          record,
          some.filter(hasId).map(({ values }) => values.id),
        )
      : new Set();
    const changes = some.filter(({ values }) => ids.has(values.id as Id));
    for (const { values } of changes) await table.update(values.id as Id, values as never);
    const added = some.filter(({ values }) => !ids.has(values.id as Id));
    await table.insertAll(added.map(({ values }) => values as never));
    return { added: added.length, changed: changes.length };
  };
  try {
    return await store.continueLoad(position, (tables) => write(tables, rows));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Adding them one by one shows which one it is.
    await store.continueLoad(position, async (tables) => {
      for (const row of rows)
        await write(tables, [row]).catch((refusal: Error) => {
          throw new Error(`line ${row.line}: ${explained(refusal)}`, { cause: refusal });
        });
      throw error;
    });
    throw error;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal } from '../foundation/errors.ts';
import { folded } from '../foundation/folded.ts';
import type { Id } from '../foundation/id.ts';
import { type AnyRecord, type Fields, newRules, parentField, referencesOf } from '../foundation/record.ts';
import { graphqlDialect, issuesOf } from '../foundation/validation.ts';
import type { Store } from '../store/store.ts';
import type { Tables } from '../store/table.ts';
import { explained, type Report } from './command.ts';
import { type OnFault, type Row, readRows } from './load-rows.ts';

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
  /** Ends the loading after the current commit. */
  signal?: AbortSignal;
}

/** Records that are checked and committed together. */
const BATCH_SIZE = 100;
/** Milliseconds between commits, in which a server beside can write. */
const PAUSE = 2;
const MAX_FAULTS = 50;

/** A parent that a file names: its id, once there is one. */
interface NamedParent {
  parent: AnyRecord;
  name: string;
  id: Id | undefined;
  fault?: string | undefined;
}

/** What a file is to add. Where a record has the name of a parent, the parent stands for its id. */
interface Content {
  records: Row[];
  missing: NamedParent[];
}

/**
 * Adds the records of a file by the rules of any write, with their events. The whole file is checked before anything is
 * written.
 *
 * @throws Error with all faults, or with the line to continue from
 */
export async function load(store: Store, options: LoadOptions): Promise<Report> {
  const { record, dryRun } = options;
  const content = await check(store, options);
  const { length } = content.records;
  const created = new Map<AnyRecord, number>();
  for (const { parent } of content.missing) created.set(parent, (created.get(parent) ?? 0) + 1);
  const what = [[record, length] as const, ...created].map(([kind, n]) => amount(n, kind)).join(' and ');
  const parents = Object.fromEntries([...created].map(([{ plural }, n]) => [plural, n]));
  const value = { kind: record.plural, records: length, parents, loaded: !dryRun };
  if (dryRun) return { value, lines: [`${what} can be loaded. Nothing was written.`] };
  await write(store, options, content);
  return { value, lines: [`Loaded ${what}.`] };
}

const count = (number: number): string => number.toLocaleString('en-US');
const amount = (number: number, { kind, plural }: AnyRecord): string =>
  `${count(number)} ${number === 1 ? kind : plural}`;

function* batches<T>(items: readonly T[]): Generator<T[]> {
  for (let n = 0; n < items.length; n += BATCH_SIZE) yield items.slice(n, n + BATCH_SIZE);
}

/** @throws Error naming the first faults, if there are any */
async function check(store: Store, options: LoadOptions): Promise<Content> {
  const faults: { line: number; message: string }[] = [];
  const content = await read(store, options, (line, message) => faults.push({ line, message }));
  if (faults.length === 0) return content;
  const lines = faults
    .sort((a, b) => a.line - b.line)
    .slice(0, MAX_FAULTS)
    .map(({ line, message }) => `line ${line}: ${message}`);
  if (faults.length > MAX_FAULTS) lines.push(`… and ${count(faults.length - MAX_FAULTS)} more`);
  const what = faults.length === 1 ? 'one fault' : `${count(faults.length)} faults`;
  throw new Error([`Nothing was loaded: ${what}.`, ...lines].join('\n'));
}

/** Reads a file by the rules that the declaration of its record has for input, and finds the parents that it refers to. */
async function read(
  store: Store,
  { record, file, from, createParents }: LoadOptions,
  onFault: OnFault,
): Promise<Content> {
  const references = referencesOf(record);
  // `category.name` instead of `categoryId`.
  const named = references
    .filter(({ parent }) => parent.sorts.includes('name'))
    .map((reference) => ({ ...reference, column: `${parentField(reference.field)}.name` }));
  const rules = newRules(record.fields, graphqlDialect, record.choosesId).extend(
    Object.fromEntries(
      named.map(({ column, parent }) => [
        column,
        graphqlDialect.optional((parent.fields as Fields).name!.rule(graphqlDialect)),
      ]),
    ),
  );
  const columns = Object.keys(rules.shape);
  const rows = await readRows(file, record.fields, columns, onFault);

  const records = rows.filter((row) => {
    const { line, values } = row;
    if (line < from) return false;
    for (const { column, field } of named) {
      if (values[column] == null) continue;
      if (values[field] !== undefined) onFault(line, `${column}: is given beside ${field}`);
      // Stands for what the name leads to.
      else values[field] = '1';
    }
    const { data, error } = rules.safeParse(values);
    for (const { path, message } of issuesOf(error?.issues ?? [], columns))
      onFault(line, `${path}: ${message}`);
    row.values = data as Row['values'];
    return !error;
  });

  const known = new Map<string, NamedParent>();
  for (const { field, column, parent } of named)
    for (const { line, values } of records) {
      const name = values[column] as string | undefined;
      if (name === undefined) continue;
      const key = `${parent.plural} ${name}`;
      let found = known.get(key);
      if (found === undefined) {
        found = await parentCalled(store, parent, name, createParents);
        known.set(key, found);
      }
      if (found.fault) onFault(line, `${column}: ${found.fault}`);
      values[field] = found;
      delete values[column];
    }
  for (const { field, parent } of references) {
    const given = records.filter(({ values }) => typeof values[field] === 'string');
    const ids = await existing(store, parent, given, field);
    for (const { line, values } of given)
      if (!ids.has(values[field] as Id))
        onFault(line, `${field}: there is no ${parent.kind} ${values[field]}`);
  }
  const chosen = records.filter(({ values }) => values.id !== undefined);
  const taken = await existing(store, record, chosen, 'id');
  for (const { line, values } of chosen) {
    if (taken.has(values.id as Id)) onFault(line, `id: ${values.id} is taken`);
    taken.add(values.id as Id);
  }
  return { records, missing: [...known.values()].filter(({ id }) => id === undefined) };
}

async function parentCalled(
  store: Store,
  parent: AnyRecord,
  name: string,
  createParents: boolean,
): Promise<NamedParent> {
  // In the order of names, longer ones that begin with this one come later.
  const { items } = await store.table(parent).page({ name: { prefix: folded(name) } } as never, {
    limit: 100,
    order: { field: 'name', descending: false },
  });
  const [found, another] = items.filter((item) => (item as { name?: unknown }).name === name);
  const { name: _, ...others } = parent.fields as Fields;
  const canCreate = Object.values(others).every(({ presence }) => presence !== 'required');
  let fault: string | undefined;
  if (another) fault = `several ${parent.plural} are called ${name}; use ids`;
  else if (!found && !(canCreate && createParents))
    fault = `there is no ${parent.kind} called ${name}${canCreate ? '; --create-parents makes it' : ''}`;
  return { parent, name, id: found?.id as Id | undefined, fault };
}

/** The ids in a column that records of this kind have. */
async function existing(
  store: Store,
  kind: AnyRecord,
  records: readonly Row[],
  column: string,
): Promise<Set<Id>> {
  const ids = new Set<Id>();
  for (const batch of batches([...new Set(records.map(({ values }) => values[column] as Id))]))
    for (const found of await store.table(kind).byIds(batch)) if (found) ids.add(found.id as Id);
  return ids;
}

/** Adds the parents that are missing, then the records, a hundred in a commit. */
async function write(
  store: Store,
  { record, from, onProgress, signal }: LoadOptions,
  { records, missing }: Content,
): Promise<void> {
  let next = from;
  let loaded = 0;
  const commit = async (work: (tables: Tables) => Promise<void>) => {
    signal?.throwIfAborted();
    await store.transaction(work);
    await sleep(PAUSE);
  };
  try {
    for (const batch of batches(missing))
      await commit(async (tables) => {
        for (const each of batch) {
          const { id } = await tables.table(each.parent).insert({ name: each.name } as never);
          each.id = id as Id;
        }
      });
    for (const batch of batches(records)) {
      await commit(async (tables) => {
        for (const { line, values } of batch) {
          const ids = Object.entries(values).map(([field, value]) => [
            field,
            (value as NamedParent | undefined)?.id ?? value,
          ]);
          const input = Object.fromEntries(ids);
          await tables
            .table(record)
            .insert(input as never)
            .catch((error: unknown) => {
              throw isRefusal(error) ? new Error(`line ${line}: ${error.message}`, { cause: error }) : error;
            });
        }
      });
      loaded += batch.length;
      next = batch.at(-1)!.line + 1;
      onProgress(next, loaded);
    }
  } catch (error) {
    throw new Error(`${explained(error)}\nLoaded ${amount(loaded, record)}. Continue with --from ${next}.`);
  }
}

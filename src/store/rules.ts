import { isDeepStrictEqual } from 'node:util';
import { memoized } from '../foundation/cache.ts';
import { idempotencyKeyReused, notFound, unknownReferences } from '../foundation/errors.ts';
import type { Field } from '../foundation/fields.ts';
import type { Id } from '../foundation/id.ts';
import { formatInstant } from '../foundation/instant.ts';
import { andThen, type MaybePromise } from '../foundation/turns.ts';
import { MAX_GROUPS, type Meter } from '../foundation/meter.ts';
import {
  type AnyDeclaration,
  checkRules,
  type Fields,
  blockersOf,
  blocksDeletion,
  NO_RULES,
  type RecordOf,
  referencesOf,
} from '../foundation/record.ts';
import { API_KEYS, apiKeysOver, CHILD_COUNTS } from './stored-api-keys.ts';
import { idTaken, notUnique, outOfRange, stillReferred, tooManyGroups } from './conflicts.ts';
import {
  type Engine,
  type EngineTransaction,
  type Lists,
  type Reads,
  type Run,
  singleWrite,
  type StoredRow,
  type Values,
  withSingleWrites,
} from './engine.ts';
import { changedFields } from './events.ts';
import type { ObjectKind } from './objects.ts';
import { inOrder } from './sort-order.ts';
import type { IdempotentCall, Outcome, Store, Transaction } from './store.ts';
import type { Check, Page, PageRequest, Table, Tables } from '../foundation/table.ts';
import { beginLoad, continueLoad, excludeOthers, interruptedLoad, LOADS } from './loads.ts';
import { DOCUMENTS, documentsOver } from './trusted-documents.ts';
import { REQUESTS } from './request-chunks.ts';
import { requestLogOver } from './stored-request-log.ts';
import { USAGE_HISTORY, usageHistoryOver } from './stored-usage-history.ts';

/**
 * Builds the store over an engine: the rules of records, written once for all engines. The order of errors is that of
 * {@link Store}.
 */
export function storeOver(database: Engine, declarations: readonly AnyDeclaration[]): Store {
  const engine = withSingleWrites(database);
  const { transaction } = engine;
  const tablesOver =
    (readsOf: (declaration: AnyDeclaration) => Reads, run: Run) =>
    (declaration: AnyDeclaration): Table<AnyDeclaration> =>
      tableOf(declaration, readsOf(declaration), (write) =>
        run((own) => write(writesOf(declaration, own, declarations, declaration.hooks && within(own)))),
      );
  const within = (own: EngineTransaction, how?: 'single'): Transaction => {
    const table = tablesOver(own.rows, (write) => write(own));
    return {
      table: ((declaration: AnyDeclaration) => {
        if (how && declaration.hooks)
          throw new Error(`${declaration.type} has hooks: a write of it is not a \`single\` one.`);
        return table(declaration);
      }) as Transaction['table'],
      objects: own.objects,
    };
  };
  // Outside transactions, each write is one of its own.
  const table = memoized((declaration: AnyDeclaration) =>
    tablesOver(engine.reads, (write) => transaction(write, declaration.hooks ? undefined : 'single'))(
      declaration,
    ),
  );

  return {
    ...engine,
    ...apiKeysOver(engine),
    ...usageHistoryOver(engine),
    ...requestLogOver(engine),
    ...documentsOver(engine),
    table: table as Store['table'],
    transaction: (work, how) => transaction((own) => work(within(own, how)), how),
    addObjects: (kind, objects) => transaction((own) => own.objects(kind).put(objects)),
    interruptedLoad: async (source, line) =>
      interruptedLoad(engine.objects(LOADS), source, line, await engine.now()),
    beginLoad: async (load) => {
      const now = await engine.now();
      return await transaction((own) => beginLoad(own, load, now));
    },
    continueLoad: (load, work, alone = false) =>
      transaction((own) =>
        continueLoad(own, load, async () => {
          if (alone) await excludeOthers(own);
          return await work(within(own));
        }),
      ),
    once: (call, work) =>
      database.transaction(
        (own) => once(own, call, () => work(within(call.how ? singleWrite(own) : own, call.how))),
        call.how,
      ),
  };
}

/** A record as callers get it. */
type StoredRecord = RecordOf<AnyDeclaration>;

function tableOf(declaration: AnyDeclaration, reads: Reads, run: Run<Writes>): Table<AnyDeclaration> {
  const pages = (lists: Lists, page: PageRequest) =>
    (canMatch(lists) ? reads.pages(lists, page) : onePerList(lists, NO_PAGE)) as MaybePromise<
      Page<StoredRecord>[]
    >;
  const counts = (lists: Lists, meter: Meter | undefined) =>
    canMatch(lists) ? reads.counts(lists, meter) : onePerList(lists, 0);
  return {
    cached: (id) => reads.cached(id) as StoredRecord | undefined,
    load: reads.load as Table<AnyDeclaration>['load'],
    byIds: (ids) => reads.byIds(ids) as MaybePromise<(StoredRecord | null)[]>,
    page: (filter, page) => andThen(pages({ filter }, page), first),
    pagesByParent: (field, parents, filter, page) => pages({ filter, below: { field, parents } }, page),
    count: (filter, meter) => counts({ filter }, meter).then(first),
    countsByParent: (field, parents, filter, meter) => counts({ filter, below: { field, parents } }, meter),
    async countsBy(by, filter, meter) {
      const groups = canMatch({ filter }) ? await reads.groups(filter, by, MAX_GROUPS + 1, meter) : [];
      if (groups.length > MAX_GROUPS) throw tooManyGroups();
      return inOrder(declaration, by, groups);
    },
    insert: (input) => run((writes) => writes.insertAll([input])).then(first),
    insertAll: (inputs, reserved) => run((writes) => writes.insertAll(inputs, reserved)),
    update: (id, patch, check) => run((writes) => writes.update(id, patch, check)),
    adjust: (id, field, amount, check) => run((writes) => writes.adjust(id, field, amount, check)),
    remove: (id, check) => run((writes) => writes.remove(id, check)),
  };
}

const NO_PAGE: Page<never> = { items: [], hasMore: false };

/** False if the conditions exclude every record. */
const canMatch = ({ filter, below }: Lists): boolean =>
  below?.parents.length !== 0 &&
  !Object.values(filter).some((value) => Array.isArray(value) && value.length === 0);

const onePerList = async <T>({ below }: Lists, value: T): Promise<T[]> =>
  below?.parents.map(() => value) ?? [value];

const first = <T>([one]: readonly T[]): T => one!;

/** The stored outcome of an idempotent call. */
interface KeptOutcome {
  call: string;
  fingerprint: string;
  value: unknown;
  expiresAt: number;
}

const OUTCOMES: ObjectKind<KeptOutcome> = {
  name: 'idempotency',
  keyOf: ({ call }) => call,
  expiresAt: ({ expiresAt }) => expiresAt,
};

/** The kinds of objects that both engines have. */
export const OBJECT_KINDS: readonly ObjectKind<never>[] = [
  API_KEYS,
  CHILD_COUNTS,
  USAGE_HISTORY,
  REQUESTS,
  DOCUMENTS,
  OUTCOMES,
  LOADS,
];

/** Runs a call once per idempotency key, and stores its outcome atomically with its writes. Refusals are not stored. */
async function once<T>(
  transaction: EngineTransaction,
  { apiKeyId, idempotencyKey, fingerprint, now, keepFor }: IdempotentCall,
  work: () => Promise<T>,
): Promise<Outcome<T>> {
  const outcomes = transaction.objects(OUTCOMES);
  const call = `${apiKeyId} ${idempotencyKey}`;
  const [kept] = await outcomes.get([call]);
  if (kept && kept.expiresAt > now) {
    if (kept.fingerprint !== fingerprint) throw idempotencyKeyReused();
    return { replayed: true, value: kept.value as T };
  }
  const value = await work();
  await outcomes.put([{ call, fingerprint, value, expiresAt: now + keepFor }]);
  return { replayed: false, value };
}

type Reserved = Parameters<Table<AnyDeclaration>['insertAll']>[1];
/** The maximum number of ids that are tried together. */
const MAX_TRIED = 10_000;

type Writes = Pick<Table<AnyDeclaration>, 'insertAll' | 'update' | 'adjust' | 'remove'>;

/**
 * The rules for the records of one kind, within a transaction.
 *
 * @param declarations all kinds of record in the store
 * @param tables the tables for hooks, if the record has any
 */
function writesOf(
  declaration: AnyDeclaration,
  { rows, beforeWrite }: EngineTransaction,
  declarations: readonly AnyDeclaration[],
  tables: Tables | undefined,
): Writes {
  const own = rows(declaration);
  const { hooks } = declaration;

  /** @throws NOT_FOUND, and whatever `check` throws */
  async function existing(id: Id, check: Check<StoredRecord> | undefined): Promise<StoredRow> {
    const [current] = await own.byIds([id]);
    if (!current) throw notFound(declaration.kind, id);
    check?.(current as StoredRecord);
    return current;
  }

  /**
   * Checks that the parents of records exist, and locks those whose deletion a record blocks.
   *
   * @param current the record before a change, whose references hold already
   * @throws UNKNOWN_REFERENCE
   */
  async function checkReferences(all: readonly Values[], current?: StoredRow): Promise<void> {
    const unknown: string[] = [];
    for (const reference of referencesOf(declaration)) {
      const { field, parent } = reference;
      const missing = new Set<Id>();
      const blocking = new Set<Id>();
      for (const values of all) {
        const id = values[field] as Id | undefined;
        if (id === undefined) continue;
        const isBlocking = blocksDeletion(reference, values);
        if (id === current?.[field] && (!isBlocking || blocksDeletion(reference, current))) continue;
        missing.add(id);
        if (isBlocking) blocking.add(id);
      }
      if (blocking.size > 0) for (const id of await rows(parent).lock([...blocking])) missing.delete(id);
      const others = missing.size > 0 ? await rows(parent).byIds([...missing]) : [];
      for (const other of others) if (other) missing.delete(other.id);
      for (const id of missing) unknown.push(`${field}: there is no ${parent.kind} ${id}`);
    }
    if (unknown.length > 0) throw unknownReferences(unknown);
  }

  /**
   * @param current the record before a change: only changed values are checked
   * @throws CONFLICT if another record has the same unique combination
   */
  async function checkUnique(all: readonly Values[], current?: StoredRow): Promise<void> {
    for (const fields of declaration.unique as readonly (readonly string[])[]) {
      const combinations = new Set<string>();
      for (const values of all) {
        const isChanged = fields.some((field) => values[field] !== current?.[field]);
        if (!isChanged || fields.some((field) => values[field] === undefined)) continue;
        const same = Object.fromEntries(fields.map((field) => [field, values[field]]));
        const combination = JSON.stringify(same);
        if (combinations.has(combination) || (await own.exists(same))) throw notUnique(declaration, fields);
        combinations.add(combination);
      }
    }
  }

  /**
   * Writes a change of a record between its hooks.
   *
   * @param values the record's values after the change
   * @param check throws if the change is not allowed; runs again after the `before` hook
   * @param write makes the change and returns the record
   * @returns the record after all hooks
   */
  async function makeChange(
    before: StoredRow | undefined,
    values: Values | undefined,
    check: () => Promise<void>,
    write: () => Promise<StoredRow | undefined>,
  ): Promise<StoredRow | undefined> {
    if (hooks?.before) {
      await hooks.before({ before, after: values && Object.freeze(values) } as never, tables as never);
      const [current] = before ? await own.byIds([before.id]) : [];
      if (!isDeepStrictEqual(current, before))
        throw new Error(`The hook before a change of ${declaration.type} changed the record itself.`);
      await check();
    }
    const after = await write();
    if (!hooks?.after) return after;
    await hooks.after({ before, after: after && Object.freeze(after) } as never, tables as never);
    return after && ((await own.byIds([after.id]))[0] ?? after);
  }

  /** @throws UNKNOWN_REFERENCE, CONFLICT if a chosen id is taken or a unique combination exists */
  async function checkNew(all: readonly Values[], chosen: readonly (Id | undefined)[]): Promise<void> {
    await checkReferences(all);
    const ids = chosen.filter((id) => id !== undefined);
    if (ids.length > 0) {
      const taken = new Set((await own.byIds(ids)).map((one) => one?.id));
      for (const id of ids) {
        if (taken.has(id)) throw idTaken(declaration, id);
        taken.add(id);
      }
    }
    if (declaration.unique.length > 0) await checkUnique(all);
  }

  /** Assigns ids to those records that haven't chosen one, none that another of them has chosen or that is reserved. */
  async function newIds(chosen: readonly (Id | undefined)[], reserved: Reserved): Promise<Id[]> {
    const needed = chosen.filter((id) => id === undefined).length;
    const taken = new Set(chosen);
    const free: Id[] = [];
    // More each time, since a million in a row may be reserved. What is left over is never assigned.
    for (let count = needed; free.length < needed; count = Math.min(2 * count, MAX_TRIED)) {
      const ids = await own.nextIds(count);
      const excluded = reserved?.(ids);
      free.push(...ids.filter((id) => !taken.has(id) && !excluded?.has(id)));
    }
    return free.slice(0, needed);
  }

  async function insertSome(inputs: readonly Values[], reserved?: Reserved): Promise<StoredRow[]> {
    const all = inputs.map((input) => canonical(declaration, input, {}));
    for (const values of all) checkRules(declaration, values);
    const chosen = inputs.map(({ id }) => (declaration.choosesId ? (id as Id | undefined) : undefined));
    const check = () => checkNew(all, chosen);
    const write = async () => {
      const assigned = await newIds(chosen, reserved);
      const stored = all.map((values, n): StoredRow => ({ id: chosen[n] ?? assigned.shift()!, ...values }));
      beforeWrite?.();
      await own.insert(stored);
      return stored;
    };
    await check();
    if (!hooks) return await write();
    const id = chosen[0];
    const values = all[0]!;
    const added = await makeChange(undefined, id === undefined ? values : { id, ...values }, check, () =>
      write().then(first),
    );
    return [added!];
  }

  const replace = async (
    current: StoredRow,
    next: StoredRow,
    check = async () => {},
  ): Promise<StoredRecord> => {
    const write = async () => {
      beforeWrite?.();
      await own.replace(current, next);
      return next;
    };
    return (await makeChange(current, next, check, write)) as StoredRecord;
  };

  return {
    async insertAll(inputs: readonly Values[], reserved) {
      if (!hooks) return (inputs.length > 0 ? await insertSome(inputs, reserved) : []) as StoredRecord[];
      const added: StoredRow[] = [];
      // Each insertion sees the writes of earlier ones' hooks.
      for (const input of inputs) added.push(...(await insertSome([input], reserved)));
      return added as StoredRecord[];
    },

    async update(id, patch, check) {
      const current = await existing(id, check);
      const values = canonical(declaration, patch, current);
      const next: StoredRow = { id, ...values };
      if (changedFields(declaration, current, next).length === 0) return current as StoredRecord;
      checkRules(declaration, values);
      const checkNext = async () => {
        await checkReferences([values], current);
        await checkUnique([values], current);
      };
      await checkNext();
      return await replace(current, next, checkNext);
    },

    async adjust(id, field, amount, check) {
      const isFree = !check && !hooks && declaration.rules === NO_RULES;
      const added = isFree && amount !== 0 ? await own.add?.(id, field, amount) : null;
      if (added) {
        beforeWrite?.();
        return added as StoredRecord;
      }
      const current = await existing(id, check);
      if (amount === 0) return current as StoredRecord;
      const value = (current[field] as number) + amount;
      const [smallest, largest] = (declaration.fields as Fields)[field]!.range!;
      if (value < smallest || value > largest) throw outOfRange(declaration, current, field, amount);
      const next: StoredRow = { ...current, [field]: value };
      checkRules(declaration, next);
      return await replace(current, next);
    },

    async remove(id, check) {
      const current = await existing(id, check);
      const referrers = blockersOf(declarations, declaration);
      const checkChildren = async () => {
        // Locks before looking for children, so that none is added afterwards.
        if (referrers.length > 0) await own.lock([id], 'alone');
        for (const referrer of referrers)
          if (await rows(referrer.child).exists({ ...referrer.where, [referrer.field]: id }))
            throw stillReferred(declaration, id, referrer);
      };
      // A `before` hook may delete the children that block it.
      if (!hooks?.before) await checkChildren();
      await makeChange(current, undefined, checkChildren, async () => {
        beforeWrite?.();
        await own.delete(current);
        return undefined;
      });
      return id;
    },
  };
}

const fieldsOf = memoized(({ fields }: AnyDeclaration) => Object.entries(fields as Fields));

/** The values of a record after a change (null removes, undefined keeps), in canonical form, without absent ones. */
export function canonical(declaration: AnyDeclaration, change: Values, current: Values): Values {
  const values: Record<string, unknown> = {};
  for (const [name, field] of fieldsOf(declaration)) {
    const changed = change[name];
    const value = changed === undefined ? (current[name] ?? defaultOf(field)) : changed;
    if (value != null) values[name] = canonicalValue(field, value);
  }
  return values;
}

function canonicalValue({ kind }: Field, value: unknown): unknown {
  if (kind === 'instant') return formatInstant(Date.parse(value as string));
  // Turns -0 into 0.
  return typeof value === 'number' ? value + 0 : value;
}

const defaultOf = ({ presence, default: value }: Field): unknown =>
  presence === 'defaulted' ? value : undefined;

import { api } from '../../src/api.ts';
import { AppError, idempotencyKeyReused, notFound, unknownReferences } from '../../src/foundation/errors.ts';
import type { Field } from '../../src/foundation/fields.ts';
import { folded } from '../../src/foundation/folded.ts';
import type { Id } from '../../src/foundation/id.ts';
import {
  type AnyDeclaration,
  blockersOf,
  blocksDeletion,
  isOrderCondition,
  isPrefix,
  referencesOf,
} from '../../src/foundation/record.ts';
import { idTaken, stillReferred } from '../../src/store/conflicts.ts';
import type { IdempotentCall, Outcome } from '../../src/store/store.ts';
import type { Check, Page, PageRequest, Table, Tables } from '../../src/foundation/table.ts';

type Values = Readonly<Record<string, unknown>>;
export type Stored = Values & { id: Id };

/** A place in a list, or the record at it. */
interface Place {
  id: Id;
  value: unknown;
}

/** A value as it is compared: text by the bytes of its folded form. */
const keyOf = ({ kind }: Field, value: unknown): Buffer | number =>
  kind === 'text' ? Buffer.from(folded(String(value))) : kind === 'instant' ? instant(value) : Number(value);

function instant(text: unknown): number {
  const time = Date.parse(String(text));
  if (Number.isNaN(time)) throw new TypeError(`Not an RFC 3339 date-time: ${text}`);
  return time;
}

/** The behaviour of both engines, in the plainest way: the records of one kind in a map. */
class ModelTable {
  readonly #record: AnyDeclaration;
  readonly #model: Model;
  readonly #fields: readonly (readonly [string, Field])[];
  readonly stored = new Map<Id, Stored>();
  #last = 0n;

  constructor(record: AnyDeclaration, model: Model) {
    this.#record = record;
    this.#model = model;
    this.#fields = Object.entries(record.fields as Record<string, Field>);
  }

  cached = () => undefined;
  load = undefined;
  byIds = (ids: readonly Id[]) => ids.map((id) => (this.stored.get(id) ?? null) as never);
  count = (filter: Values) => this.#matching(filter).length;
  countsByParent = (field: string, parents: readonly Id[], filter: Values) =>
    parents.map((id) => this.#matching(filter).filter((record) => record[field] === id).length);
  countsBy = (by: readonly string[], filter: Values) => {
    const groups = new Map<string, { values: Values; count: number }>();
    for (const record of this.#matching(filter)) {
      const values = Object.fromEntries(by.map((field) => [field, record[field]]));
      const key = JSON.stringify(by.map((field) => record[field]));
      groups.set(key, { values, count: (groups.get(key)?.count ?? 0) + 1 });
    }
    const rank = (values: Values) =>
      by.map((field) => {
        const { choices } = this.#record.fields[field] as Field;
        return choices ? choices.values.indexOf(values[field] as string) : Number(values[field]);
      });
    return [...groups.values()].sort((a, b) => {
      const x = rank(a.values);
      const y = rank(b.values);
      return x.map((value, n) => value - y[n]!).find((distance) => distance !== 0) ?? 0;
    });
  };
  pagesByParent = (field: string, parents: readonly Id[], filter: Values, request: PageRequest) =>
    parents.map((parent) => this.page({ ...filter, [field]: parent }, request));

  page(filter: Values, { limit, after, before, backward, inclusive, order }: PageRequest): Page<never> {
    const sort = order?.field ?? Object.keys(filter).find((field) => isOrderCondition(filter[field]));
    const sign = order?.descending ? -1 : 1;
    const compare = (a: Place, b: Place): number => {
      if ((a.value == null) !== (b.value == null)) return a.value == null ? 1 : -1;
      const [x, y] = [a, b].map(({ value }) =>
        sort === undefined || value == null ? 0 : keyOf(this.#record.fields[sort], value),
      ) as [never, never];
      const byValue = Buffer.isBuffer(x) ? Buffer.compare(x, y) : x - y;
      return sign * (byValue || Number(BigInt(a.id) - BigInt(b.id)));
    };
    const placeOf = (record: Stored): Place => ({ id: record.id, value: record[sort ?? ''] });
    const isWithin = (record: Stored, bound: Id | undefined, value: unknown, side: number) => {
      if (bound === undefined) return true;
      const distance = side * compare(placeOf(record), { id: bound, value });
      return distance > 0 || (inclusive === true && distance === 0);
    };
    const range = this.#matching(filter)
      .sort((a, b) => compare(placeOf(a), placeOf(b)))
      .filter((record) => isWithin(record, after, order?.afterValue, 1))
      .filter((record) => isWithin(record, before, order?.beforeValue, -1));
    const items = backward ? range.slice(Math.max(0, range.length - limit)) : range.slice(0, limit);
    return { items: items as never[], hasMore: range.length > limit };
  }

  insert(input: Values): never {
    const values = this.#normalised(input, {});
    this.#checkReferences(values, undefined);
    const chosen = this.#record.choosesId ? (input.id as Id | undefined) : undefined;
    if (chosen !== undefined && this.stored.has(chosen)) throw idTaken(this.#record, chosen);
    return this.#write({ id: chosen ?? this.#nextId(), ...values }, `${this.#record.kind}.created`);
  }

  update(id: Id, patch: Values, check?: Check<never>): never {
    const current = this.#existing(id, check);
    const values = this.#normalised(patch, current);
    const changed = this.#fields.filter(([name]) => values[name] !== current[name]);
    if (changed.length === 0) return current as never;
    this.#checkReferences(values, current);
    const [domain, ...others] = new Set(changed.map(([, { view }]) => view ?? this.#record.kind));
    const type = `${others.length === 0 ? domain : this.#record.kind}.updated`;
    return this.#write({ id, ...values }, type);
  }

  remove(id: Id, check?: Check<never>): Id {
    this.#existing(id, check);
    for (const referrer of blockersOf(api.records, this.#record)) {
      for (const child of this.#model.table(referrer.child).stored.values())
        if (child[referrer.field] === id && blocksDeletion(referrer, child))
          throw stillReferred(this.#record, id, referrer);
    }
    this.stored.delete(id);
    this.#model.events.push({ type: `${this.#record.kind}.deleted`, record: { id } });
    return id;
  }

  #write(record: Stored, type: string): never {
    this.stored.set(record.id, record);
    this.#model.events.push({ type, record });
    return record as never;
  }

  /** Ids ascend, and none is assigned that is in use. */
  #nextId(): Id {
    do this.#last++;
    while (this.stored.has(String(this.#last)));
    return String(this.#last);
  }

  #existing(id: Id, check: Check<never> | undefined): Stored {
    const record = this.stored.get(id);
    if (!record) throw notFound(this.#record.kind, id);
    check?.(record as never);
    return record;
  }

  #matching(filter: Values): Stored[] {
    const matches = (record: Stored) =>
      Object.entries(filter).every(([field, wanted]) => {
        if (wanted === undefined) return true;
        if (isPrefix(wanted)) return folded(String(record[field])).startsWith(wanted.prefix);
        if (isOrderCondition(wanted) && !isPrefix(wanted)) {
          const [value, min, max] = [record[field], wanted.min, wanted.max].map(
            (each) => each != null && Number(keyOf(this.#record.fields[field], each)),
          ) as [number | false, number | false, number | false];
          return value !== false && (min === false || value >= min) && (max === false || value <= max);
        }
        return Array.isArray(wanted) ? wanted.includes(record[field]) : record[field] === wanted;
      });
    return [...this.stored.values()].filter(matches);
  }

  #normalised(change: Values, current: Values): Values {
    const values: Record<string, unknown> = {};
    for (const [name, { kind, presence, default: initial }] of this.#fields) {
      const changed = change[name];
      const value =
        changed === undefined ? (current[name] ?? (presence === 'defaulted' ? initial : null)) : changed;
      if (value === null) continue;
      if (kind === 'instant') values[name] = new Date(instant(value)).toISOString().replace('.000Z', 'Z');
      else values[name] = value === 0 ? 0 : value;
    }
    return values;
  }

  /** A reference that is new, or holds its parent from now on, must name a record. */
  #checkReferences(values: Values, current: Values | undefined): void {
    const unknown: string[] = [];
    for (const reference of referencesOf(this.#record)) {
      const id = values[reference.field] as Id | undefined;
      if (id === undefined) continue;
      const isOld = id === current?.[reference.field];
      if (isOld && (blocksDeletion(reference, current!) || !blocksDeletion(reference, values))) continue;
      if (!this.#model.table(reference.parent as AnyDeclaration).stored.has(id))
        unknown.push(`${reference.field}: there is no ${reference.parent.kind} ${id}`);
    }
    if (unknown.length > 0) throw unknownReferences(unknown);
  }
}

/** The model of a store: its tables, their events, and the outcomes of idempotent calls. */
export class Model implements Tables {
  readonly events: { type: string; record: Stored }[] = [];
  readonly #tables = new Map<AnyDeclaration, ModelTable>();
  readonly #outcomes = new Map<string, { fingerprint: string; expiresAt: number; value: unknown }>();

  table(record: AnyDeclaration): ModelTable & Table<never> {
    const table = this.#tables.get(record) ?? new ModelTable(record, this);
    this.#tables.set(record, table);
    return table as never;
  }

  /** @param work makes one write */
  once(call: IdempotentCall, work: (tables: Tables) => unknown): Outcome<unknown> {
    const { apiKeyId, idempotencyKey, fingerprint, now, keepFor } = call;
    const key = JSON.stringify([apiKeyId, idempotencyKey]);
    const kept = this.#outcomes.get(key);
    if (kept && kept.expiresAt > now) {
      if (kept.fingerprint !== fingerprint) throw idempotencyKeyReused();
      return { replayed: true, value: kept.value };
    }
    const value = work(this);
    this.#outcomes.set(key, { fingerprint, expiresAt: now + keepFor, value });
    return { replayed: false, value };
  }
}

/** The result of a call, or its refusal. */
export async function outcomeOf(run: () => unknown): Promise<unknown> {
  try {
    return { value: (await run()) ?? null };
  } catch (error) {
    if (error instanceof AppError) return { ...error.toPublic(), retryAfter: error.retryAfter };
    throw error;
  }
}

import type { Document } from 'mongodb';
import type { Field, FieldKind } from '../../foundation/fields.ts';
import { folded } from '../../foundation/folded.ts';
import { formatInstant, parseInstant } from '../../foundation/instant.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import type { EventRecord } from '../events.ts';
import { indexesOf } from '../indexes.ts';
import {
  type CollectionDefinition,
  CREATED_VERSION,
  DATE,
  ID,
  type RecordDocument,
  recordSchema,
  toId,
  toKey,
} from './collection.ts';
import { type FoldedField, foldedFieldsOf } from './folding.ts';
import { sortIndexKey } from './searched-page.ts';

/** How the values of one kind are stored. Neither function gets an absent value. */
interface Codec {
  stored?(value: never): unknown;
  read?(value: never): unknown;
}

function dateOf(text: string): Date {
  const instant = parseInstant(text);
  if (instant === null) throw new TypeError(`Not an RFC 3339 date-time: ${text}`);
  return new Date(instant);
}

const CODECS: Readonly<Record<FieldKind, Codec>> = {
  id: { stored: toKey, read: toId },
  // The driver would write -0 as a double.
  integer: { stored: (value: number) => value + 0 },
  boolean: {},
  text: {},
  instant: { stored: dateOf, read: (value: Date) => formatInstant(value.getTime()) },
  date: {},
};

function schemaOf({ kind, choices, range, limits, schema }: Field): Document {
  if (choices) return { enum: [...choices.values] };
  if (kind === 'id') return ID;
  if (kind === 'integer') return { bsonType: 'int', minimum: range![0] };
  if (kind === 'boolean') return { bsonType: 'bool' };
  if (kind === 'instant') return DATE;
  return {
    bsonType: 'string',
    ...(limits !== undefined && schema.minLength !== undefined && { minLength: 1 }),
  };
}

/** The collection of a record's documents. */
export const collectionOf = (record: AnyRecord): CollectionDefinition => ({
  name: record.plural,
  schema: recordSchema(
    Object.fromEntries([
      ...Object.entries(record.fields as Fields).map(([name, field]) => [
        field.presence === 'optional' ? `${name}?` : name,
        schemaOf(field),
      ]),
      // Absent in records of an earlier version until they are taken over (`folding.ts`).
      ...foldedFieldsOf(record).map(({ property }) => [`${property}?`, { bsonType: 'string' }]),
    ]),
  ),
  // Filtering by several values merges index ranges that are each ordered by id, so nothing is sorted in memory.
  indexes: [
    ...indexesOf(record).map((fields) => ({ key: { ...ascending(fields), _id: 1 as const } })),
    ...record.sorts.map((sort: string) => ({ key: sortIndexKey(record, sort) })),
    ...record.unique.map((fields: readonly string[]) => ({
      key: ascending(fields),
      unique: true,
      partialFilterExpression: Object.fromEntries(fields.map((field) => [field, { $exists: true }])),
    })),
  ],
  defaults: Object.fromEntries(
    Object.entries(record.fields as Fields).flatMap(([name, { presence, default: value }]) =>
      presence === 'defaulted' ? [[name, value]] : [],
    ),
  ),
});

const ascending = (fields: readonly string[]) =>
  Object.fromEntries(fields.map((field) => [field, 1 as const]));

/** Converts between a record and its document. */
export class DocumentCodec {
  /** The projection to what clients see. Versions stay in the database. */
  readonly projection: Readonly<Record<string, 1>>;
  readonly #folded: readonly FoldedField[];
  readonly #fields: readonly { name: string; field: Field; stored: Codec['stored']; read: Codec['read'] }[];

  constructor(record: AnyRecord) {
    const { fields } = record;
    this.#folded = foldedFieldsOf(record);
    this.#fields = Object.entries(fields as Fields).map(([name, field]) => ({
      name,
      field,
      stored: CODECS[field.kind].stored,
      read: CODECS[field.kind].read,
    }));
    this.projection = Object.fromEntries(this.#fields.map(({ name }) => [name, 1]));
  }

  /** Absent values are left out. Also converts the snapshot in an update (`changes.ts`). */
  toRecord = (document: RecordDocument | Document): EventRecord => {
    const record: Record<string, unknown> = { id: toId(document._id) };
    for (const { name, read } of this.#fields) {
      const value = (document as Document)[name];
      if (value != null) record[name] = read ? read(value as never) : value;
    }
    return record as EventRecord;
  };

  /** The values of a filter or a change as stored; undefined and null are kept. */
  stored(values: Readonly<Record<string, unknown>>): Document {
    const document: Document = {};
    for (const { name, stored } of this.#fields) {
      const value = values[name];
      if (value === undefined) continue;
      if (Array.isArray(value)) document[name] = stored ? value.map((item) => stored(item as never)) : value;
      else document[name] = value === null || !stored ? value : stored(value as never);
    }
    return document;
  }

  /** A new document without absent values. */
  newDocument(_id: bigint, values: Readonly<Record<string, unknown>>): RecordDocument {
    const given: Record<string, unknown> = {};
    for (const { name, field } of this.#fields) {
      const value = values[name] ?? (field.presence === 'defaulted' ? field.default : undefined);
      if (value != null) given[name] = value;
    }
    return { _id, ...this.stored(given), ...this.folded(given), version: CREATED_VERSION };
  }

  /** The folded forms of those values that a change replaces. */
  foldedChanges(before: Document, change: Readonly<Record<string, unknown>>): Document {
    const changed = this.#folded.filter(({ field }) => change[field] !== before[field]);
    return this.folded(Object.fromEntries(changed.map(({ field }) => [field, change[field]])));
  }

  /** The folded forms of those values that lists are ordered by. */
  folded(values: Readonly<Record<string, unknown>>): Document {
    const document: Document = {};
    for (const { field, property } of this.#folded)
      if (typeof values[field] === 'string') document[property] = folded(values[field]);
    return document;
  }
}

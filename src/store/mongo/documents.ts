import type { Document, UpdateFilter } from 'mongodb';
import type { Field, FieldKind } from '../../foundation/fields.ts';
import { isFolded } from '../../foundation/fields.ts';
import { folded } from '../../foundation/folded.ts';
import { formatInstant, millisecondsOf } from '../../foundation/instant.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import type { EventRecord } from '../events.ts';
import { fieldsOfIndex, indexesOf } from '../indexes.ts';
import {
  type CollectionDefinition,
  CREATED_VERSION,
  DATE,
  ID,
  INTEGER,
  type Key,
  objectSchema,
  toId,
  toKey,
  type Version,
} from './collection.ts';

type Values = Readonly<Record<string, unknown>>;

/** What all records' documents have. */
export interface RecordDocument extends Document {
  _id: Key;
  version: Version;
}

/**
 * The property in which an update stores a copy of everything clients see of the record. A change stream reports
 * only what an update sets; the full document of that moment is available only on servers configured to keep it.
 */
export const SNAPSHOT = 'written';

/** Properties of an earlier layout. They are ignored, and removed by the next update. */
const FORMER_PROPERTIES = ['openOrders', 'pets', 'heldAt'];

/** How the values of one kind are stored. Neither function gets an absent value. */
interface Codec {
  stored?: ((value: never) => unknown) | undefined;
  read?: ((value: never) => unknown) | undefined;
}

const CODECS: Readonly<Record<FieldKind, Codec>> = {
  id: { stored: toKey, read: toId },
  // The driver would write -0 as a double.
  integer: { stored: (value: number) => value + 0 },
  boolean: {},
  text: {},
  instant: {
    stored: (text: string) => new Date(millisecondsOf(text)),
    read: (value: Date) => formatInstant(value.getTime()),
  },
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

/** The property that a field is ordered by: for a text, the one with its folded form. */
export const sortProperty = (field: string, declaration: Field): string =>
  isFolded(declaration) ? `${field}_folded` : field;

/** The key of the index with these fields, for lists in an order. */
export const indexKey = (
  { fields }: AnyRecord,
  names: readonly string[],
  sort: string | undefined,
): Record<string, 1> => ({
  ...ascending(names.map((name) => (name === sort ? sortProperty(name, (fields as Fields)[name]!) : name))),
  _id: 1,
});

/** The fields that are ordered by their folded form, and the properties with it. */
export const foldedFieldsOf = ({ fields, sorts }: AnyRecord): readonly (readonly [string, string])[] =>
  Object.entries(fields as Fields).flatMap(([field, declaration]) =>
    sorts.includes(field) && isFolded(declaration) ? [[field, sortProperty(field, declaration)]] : [],
  );

/** The collection of a record's documents. */
export function collectionOf(record: AnyRecord): CollectionDefinition {
  const fields = Object.entries(record.fields as Fields);
  return {
    name: record.plural,
    schema: objectSchema({
      _id: ID,
      ...Object.fromEntries(
        fields.map(([name, field]) => [field.presence === 'optional' ? `${name}?` : name, schemaOf(field)]),
      ),
      // Absent in records of an earlier version until they are taken over (`folding.ts`).
      ...Object.fromEntries(
        foldedFieldsOf(record).map(([, property]) => [`${property}?`, { bsonType: 'string' }]),
      ),
      version: INTEGER,
      [`${SNAPSHOT}?`]: { bsonType: 'object' },
    }),
    // Filtering by several values merges index ranges that are each ordered by id, so nothing is sorted in memory.
    indexes: [
      ...indexesOf(record).map((index) => ({ key: indexKey(record, fieldsOfIndex(index), index.sort) })),
      ...record.unique.map((names: readonly string[]) => ({
        key: ascending(names),
        unique: true,
        partialFilterExpression: Object.fromEntries(names.map((name) => [name, { $exists: true }])),
      })),
    ],
    defaults: Object.fromEntries(
      fields.flatMap(([name, { presence, default: value }]) =>
        presence === 'defaulted' ? [[name, value]] : [],
      ),
    ),
  };
}

const ascending = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1 as const]));

/** Converts between a record and its document. */
export class DocumentCodec {
  /** The projection to what clients see. Versions stay in the database. */
  readonly projection: Readonly<Record<string, 1>>;
  readonly #folded: ReturnType<typeof foldedFieldsOf>;
  readonly #fields: readonly (Codec & { name: string; field: Field })[];

  constructor(record: AnyRecord) {
    this.#folded = foldedFieldsOf(record);
    this.#fields = Object.entries(record.fields as Fields).map(([name, field]) => {
      const { stored, read } = CODECS[field.kind];
      return { name, field, stored, read };
    });
    this.projection = ascending(this.#fields.map(({ name }) => name));
  }

  /** Absent values are left out. Also converts the snapshot in an update. */
  toRecord = (document: Document): EventRecord => {
    const record: Record<string, unknown> = { id: toId(document._id) };
    for (const { name, read } of this.#fields) {
      const value = document[name];
      if (value != null) record[name] = read ? read(value as never) : value;
    }
    return record as EventRecord;
  };

  /** The values of a filter or a change as stored; undefined and null are kept. */
  stored(values: Values): Document {
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
  newDocument(_id: Key, values: Values): RecordDocument {
    const given: Record<string, unknown> = {};
    for (const { name, field } of this.#fields) {
      const value = values[name] ?? (field.presence === 'defaulted' ? field.default : undefined);
      if (value != null) given[name] = value;
    }
    return { _id, ...this.stored(given), ...this.#foldedOf(given), version: CREATED_VERSION };
  }

  /**
   * The update that makes a change (null removes, undefined keeps) and increments the version. Returns null if
   * nothing changes, so that an empty patch writes nothing.
   */
  updateOf(document: RecordDocument, patch: Values): UpdateFilter<RecordDocument> | null {
    const changes = Object.entries(this.stored(patch)).filter(
      ([name, value]) => !isSame(document[name], value),
    );
    if (changes.length === 0) return null;
    const after = { ...document, ...Object.fromEntries(changes) };
    const $set: Document = { [SNAPSHOT]: {} };
    const $unset: Document = {};
    for (const { name } of this.#fields) if (after[name] != null) $set[SNAPSHOT][name] = after[name];
    for (const [name, value] of changes) (value === null ? $unset : $set)[name] = value ?? true;
    for (const name of FORMER_PROPERTIES) if (name in document) $unset[name] = true;
    Object.assign($set, this.#foldedOf($set));
    return { $inc: { version: 1 }, $set, ...(Object.keys($unset).length > 0 && { $unset }) } as never;
  }

  /** The folded forms of those values that lists are ordered by. */
  #foldedOf(values: Values): Document {
    const document: Document = {};
    for (const [field, property] of this.#folded)
      if (typeof values[field] === 'string') document[property] = folded(values[field]);
    return document;
  }
}

const isSame = (current: unknown, value: unknown): boolean =>
  current instanceof Date && value instanceof Date
    ? current.getTime() === value.getTime()
    : (current ?? null) === value;

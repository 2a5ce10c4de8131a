import type { Document, Filter } from 'mongodb';
import { memoized } from '../../foundation/cache.ts';
import { type FieldKind, isFolded } from '../../foundation/fields.ts';
import { folded } from '../../foundation/folded.ts';
import type { Id } from '../../foundation/id.ts';
import { formatInstant } from '../../foundation/instant.ts';
import { type AnyDeclaration, type Fields, isOrderCondition } from '../../foundation/record.ts';
import type { StoredRow, Values } from '../engine.ts';
import { type EventRecord, type EventType, eventOf, type StoredEvent } from '../events.ts';

/** An int64 id in BSON. */
export type Key = bigint;

/** Converts an id of the port to a database key. */
export const toKey = (id: Id): Key => BigInt(id);

/** Converts a database key to an id of the port. */
export const toId = (key: Key | number): Id => String(key);

/** The properties common to the documents of all records. */
export interface RecordDocument extends Document {
  _id: Key;
}

/**
 * The property with the type of the event that wrote a document. Every write that clients see replaces the document, so
 * that change streams report it whole. Imports and internal writes aren't events.
 */
export const EVENT = '_event';

/**
 * The property with the event and all values after a change that doesn't replace the document. They are a single text
 * because change streams report only the changed properties, at the time of the change.
 */
export const AFTER = '_after';

/** Precedes each value of {@link AFTER}, with {@link PRESENT} if there is one. Texts from clients can't contain it. */
const SEPARATOR = '\u001f';
const PRESENT = '=';

/** The conversions between values of one kind and their stored form, except for absent ones. */
interface Codec {
  stored?: ((value: never) => unknown) | undefined;
  read?: ((value: never) => unknown) | undefined;
}

/** Codecs by kind; other kinds are stored as they are. */
const CODECS: Readonly<Partial<Record<FieldKind, Codec>>> = {
  id: { stored: toKey, read: toId },
  bigInteger: { stored: toKey, read: toId },
  instant: {
    stored: (text: string) => new Date(text),
    read: (value: Date) => formatInstant(value.getTime()),
  },
};

/** Parsers for the output of MongoDB's `$toString`, by kind; other kinds are texts. */
const PARSERS: Readonly<Partial<Record<FieldKind, (text: string) => unknown>>> = {
  integer: Number,
  boolean: (text) => text === 'true',
  instant: (text) => formatInstant(Date.parse(text)),
};

/** The property to order a field by: for a text, the one with its folded form. */
export const sortProperty = ({ fields, sorts }: AnyDeclaration, field: string): string =>
  sorts.includes(field) && isFolded((fields as Fields)[field]!) ? `${field}_folded` : field;

/** The key of an index. */
export const indexKey = (declaration: AnyDeclaration, fields: readonly string[]): Record<string, 1> => ({
  ...ascending(fields.map((field) => sortProperty(declaration, field))),
  _id: 1,
});

/** Pairs of fields that are ordered by their folded form, and the properties with it. */
export const foldedFieldsOf = (declaration: AnyDeclaration): readonly (readonly [string, string])[] =>
  Object.keys(declaration.fields)
    .map((field) => [field, sortProperty(declaration, field)] as const)
    .filter(([field, property]) => field !== property);

/** The key of an index, or a projection. */
export const ascending = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, 1 as const]));

/** Converts between the records of one kind and their documents. */
export const codecOf = memoized((declaration: AnyDeclaration) => {
  const foldedFields = foldedFieldsOf(declaration);
  const fields = Object.entries(declaration.fields as Fields).map(
    ([name, { kind, formerly }]): Codec & {
      name: string;
      kind: FieldKind;
      formerly: string | undefined;
    } => ({
      name,
      kind,
      formerly,
      ...CODECS[kind],
    }),
  );
  const names = fields.map(({ name }) => name);

  /** The stored form of the values of a record or filter, without undefined ones. Order conditions stay as they are. */
  function stored(values: Values): Document {
    const document: Document = {};
    for (const { name, stored } of fields) {
      const value = values[name];
      if (value === undefined) continue;
      if (!stored || isOrderCondition(value)) document[name] = value;
      else document[name] = Array.isArray(value) ? value.map(stored as never) : stored(value as never);
    }
    return document;
  }

  /** The folded forms of the values that lists are ordered by. */
  function foldedOf(values: Values): Document {
    const document: Document = {};
    for (const [field, property] of foldedFields)
      if (typeof values[field] === 'string') document[property] = folded(values[field]);
    return document;
  }

  return {
    stored,
    foldedOf,
    /** The projection to the record's fields. */
    projection: ascending(names),

    /** Converts a document to a record, without absent values. */
    toRecord(document: Document): EventRecord {
      const record: Record<string, unknown> = { id: toId(document._id) };
      for (const { name, read, formerly } of fields) {
        // Older events use former names.
        const value = document[name] ?? (formerly && document[formerly]);
        if (value != null) record[name] = read ? read(value as never) : value;
      }
      return record as EventRecord;
    },

    /** Converts a record to a document. @param event the type of the event it is written with, if any */
    toDocument: ({ id, ...values }: StoredRow, event?: EventType): RecordDocument => ({
      _id: toKey(id),
      ...stored(values),
      ...foldedOf(values),
      ...(event && { [EVENT]: event }),
    }),

    /** A pipeline update that adds to a field and logs an event. */
    addition(field: string, amount: number): Document[] {
      const { type } = eventOf(declaration, { id: '0', [field]: 0 }, { id: '0', [field]: amount });
      const text = (name: string) => ({ $ifNull: [{ $concat: [PRESENT, { $toString: `$${name}` }] }, ''] });
      const after = { $concat: [type, ...names.flatMap((name) => [SEPARATOR, text(name)])] };
      return [{ $set: { [field]: { $add: [`$${field}`, amount] } } }, { $set: { [AFTER]: after } }];
    },

    /** Parses the event in {@link AFTER}. */
    eventOfAddition(id: Key, after: string): Pick<StoredEvent, 'type' | 'record'> {
      const [type, ...texts] = after.split(SEPARATOR);
      const values = texts.flatMap((text, i) => {
        const { name, kind } = fields[i]!;
        const value = text.slice(PRESENT.length);
        return text === '' ? [] : [[name, PARSERS[kind]?.(value) ?? value]];
      });
      return { type: type as EventType, record: { id: toId(id), ...Object.fromEntries(values) } };
    },

    /** The filter for the document of a record that still has the same values. */
    unchanged: ({ id, ...values }: StoredRow): Filter<RecordDocument> => ({
      ...Object.fromEntries(names.map((name) => [name, null])),
      ...stored(values),
      _id: toKey(id),
    }),
  };
});

import type { Document, Filter } from 'mongodb';
import { memoized } from '../../foundation/cache.ts';
import { type FieldKind, isFolded } from '../../foundation/fields.ts';
import { folded } from '../../foundation/folded.ts';
import type { Id } from '../../foundation/id.ts';
import { formatInstant } from '../../foundation/instant.ts';
import { type AnyRecord, type Fields, isOrderCondition } from '../../foundation/record.ts';
import type { Stored, Values } from '../engine.ts';
import { type EventRecord, type EventType, eventOf, type StoredEvent } from '../events.ts';

/** An int64 id in BSON. */
export type Key = bigint;

/** Converts an id of the port to a database key. */
export const toKey = (id: Id): Key => BigInt(id);

/** Converts a database key to an id of the port. */
export const toId = (key: Key | number): Id => String(key);

/** What all records' documents have. */
export interface RecordDocument extends Document {
  _id: Key;
}

/**
 * The property with the type of the event that wrote a document. Every write of a record replaces its document, so that
 * a change stream reports all that clients see of it. What was written for another reason, or imported, is no event.
 */
export const EVENT = '_event';

/**
 * The property with the event and all values of a record after a change that didn't replace its document. A change stream tells what
 * such a change has written, and not what the rest was at that time. So it is one text, which is told whole.
 */
export const AFTER = '_after';

/** Separates the values of {@link AFTER}, each after {@link PRESENT} if there is one. No text that clients send has it. */
const SEPARATOR = '\u001f';
const PRESENT = '=';

/** How the values of one kind are stored. Neither function gets an absent value. */
interface Codec {
  stored?: ((value: never) => unknown) | undefined;
  read?: ((value: never) => unknown) | undefined;
}

/** Other kinds are stored as they are. */
const CODECS: Readonly<Partial<Record<FieldKind, Codec>>> = {
  id: { stored: toKey, read: toId },
  instant: {
    stored: (text: string) => new Date(text),
    read: (value: Date) => formatInstant(value.getTime()),
  },
};

/** Values of kinds that are no texts, from what MongoDB's `$toString` makes of them. */
const PARSERS: Readonly<Partial<Record<FieldKind, (text: string) => unknown>>> = {
  integer: Number,
  boolean: (text) => text === 'true',
  instant: (text) => formatInstant(Date.parse(text)),
};

/** The property that a field is ordered by: for a text, the one with its folded form. */
export const sortProperty = ({ fields, sorts }: AnyRecord, field: string): string =>
  sorts.includes(field) && isFolded((fields as Fields)[field]!) ? `${field}_folded` : field;

/** The key of an index. */
export const indexKey = (record: AnyRecord, fields: readonly string[]): Record<string, 1> => ({
  ...ascending(fields.map((field) => sortProperty(record, field))),
  _id: 1,
});

/** The fields that are ordered by their folded form, and the properties with it. */
export const foldedFieldsOf = (record: AnyRecord): readonly (readonly [string, string])[] =>
  Object.keys(record.fields)
    .map((field) => [field, sortProperty(record, field)] as const)
    .filter(([field, property]) => field !== property);

/** A key of an index, or a projection. */
export const ascending = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, 1 as const]));

/** Converts between the records of one kind and their documents. */
export const codecOf = memoized((record: AnyRecord) => {
  const foldedFields = foldedFieldsOf(record);
  const fields = Object.entries(record.fields as Fields).map(
    ([name, { kind, formerly }]): Codec & {
      name: string;
      kind: FieldKind;
      formerly: string | undefined;
    } => ({
      ...{ name, kind, formerly },
      ...CODECS[kind],
    }),
  );
  const names = fields.map(({ name }) => name);

  /** The values of a filter or a record as stored; undefined ones are left out, order conditions as they are. */
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

  /** The folded forms of those values that lists are ordered by. */
  function foldedOf(values: Values): Document {
    const document: Document = {};
    for (const [field, property] of foldedFields)
      if (typeof values[field] === 'string') document[property] = folded(values[field]);
    return document;
  }

  return {
    stored,
    foldedOf,
    /** The projection to what clients see. */
    projection: ascending(names),

    /** Absent values are left out. */
    toRecord(document: Document): EventRecord {
      const record: Record<string, unknown> = { id: toId(document._id) };
      for (const { name, read, formerly } of fields) {
        // Events are as they were written.
        const value = document[name] ?? (formerly && document[formerly]);
        if (value != null) record[name] = read ? read(value as never) : value;
      }
      return record as EventRecord;
    },

    /** @param event the type of the event that it is written with; undefined if there is none */
    toDocument: ({ id, ...values }: Stored, event?: EventType): RecordDocument => ({
      _id: toKey(id),
      ...stored(values),
      ...foldedOf(values),
      ...(event && { [EVENT]: event }),
    }),

    /** An update that adds to a field, as a pipeline, and tells the log about it. */
    addition(field: string, amount: number): Document[] {
      const { type } = eventOf(record, { id: '0', [field]: 0 }, { id: '0', [field]: amount });
      const text = (name: string) => ({ $ifNull: [{ $concat: [PRESENT, { $toString: `$${name}` }] }, ''] });
      const after = { $concat: [type, ...names.flatMap((name) => [SEPARATOR, text(name)])] };
      return [{ $set: { [field]: { $add: [`$${field}`, amount] } } }, { $set: { [AFTER]: after } }];
    },

    /** The event that {@link AFTER} tells of. */
    eventOfAddition(id: Key, after: string): Pick<StoredEvent, 'type' | 'record'> {
      const [type, ...texts] = after.split(SEPARATOR);
      const values = texts.flatMap((text, i) => {
        const { name, kind } = fields[i]!;
        const value = text.slice(PRESENT.length);
        return text === '' ? [] : [[name, PARSERS[kind]?.(value) ?? value]];
      });
      return { type: type as EventType, record: { id: toId(id), ...Object.fromEntries(values) } };
    },

    /** Matches the document of a record that still has the same values. */
    unchanged: ({ id, ...values }: Stored): Filter<RecordDocument> => ({
      ...Object.fromEntries(names.map((name) => [name, null])),
      ...stored(values),
      _id: toKey(id),
    }),
  };
});

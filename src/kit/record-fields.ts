import type { EnumRef, InputFieldBuilder, InputFieldMap, InputRef, ObjectRef } from '@pothos/core';
import { notFound } from '../foundation/errors.ts';
import type { Field } from '../foundation/fields.ts';
import type { Id } from '../foundation/id.ts';
import {
  type AnyRecord,
  type FieldNameOf,
  type Fields,
  inputFields,
  type NewOf,
  newRules,
  type PatchOf,
  patchRules,
  type RecordOf,
} from '../foundation/record.ts';
import { graphqlDialect } from '../foundation/validation.ts';
import { capitalised, indefinite } from '../foundation/words.ts';
import { builder } from './builder.ts';
import { type ConnectionArguments, childConnection, recordConnection } from './connection.ts';
import type { Context } from './context.ts';
import { deletionDescription, uniquenessDescription } from './domain.ts';
import { changed, given } from './fields.ts';
import { checkedBy } from './input-rules.ts';
import { sortArgument } from './list-arguments.ts';
import { unchanged, write } from './write.ts';

/**
 * The connection and edge types of a record's lists: `PetConnection` and `PetEdge`, however many fields there
 * are with such a list.
 */
export const connectionOf = <T extends object>(type: ObjectRef<typeof builder.$inferSchemaTypes, T>) =>
  builder.connectionObject(
    {
      type,
      name: `${type.name}Connection`,
      description: `A page of a list with items of type ${type.name} (Relay cursor connections).`,
    },
    {
      name: `${type.name}Edge`,
      description: `An item of type ${type.name} with its position in the list.`,
    },
  );

type TypeOf<R extends AnyRecord> = ObjectRef<typeof builder.$inferSchemaTypes, RecordOf<R>>;

const idOf = ({ kind }: AnyRecord) =>
  builder.args((t) => ({ id: t.id({ required: true, description: `The id of the ${kind}.` }) }));

const inputOf = <T extends object>(type: InputRef<T>, description: string) =>
  builder.args((t) => ({ input: t.field({ type, required: true, description }) }));

type InputFields = InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>;

/**
 * The inputs for a new record and for changes to one: `NewPet` and `PetPatch`.
 *
 * @param fieldsOf the fields of both, with the options of each
 */
export function inputsOf(
  record: AnyRecord,
  fieldsOf: (
    t: InputFields,
    options: (field: Field) => { description: string; required?: boolean },
  ) => InputFieldMap,
) {
  const { kind, type, choosesId } = record;
  const presences = Object.values(inputFields(record)).map(({ presence }) => presence);
  const created = builder.inputType(`New${type}`, {
    description: `Input for a new ${kind}.${presences.includes('required') ? '' : ' No field is required.'}`,
    ...checkedBy(newRules(record, graphqlDialect)),
    fields: (t) => ({
      ...(choosesId && { id: t.id({ description: `The id of the ${kind}; assigned by default.` }) }),
      ...fieldsOf(t, given),
    }),
  });
  const changes = builder.inputType(`${type}Patch`, {
    description: `Changes to ${indefinite(kind)}. Omitted fields stay as they are${presences.includes('optional') ? '; null removes a value' : ''}.`,
    ...checkedBy(patchRules(record, graphqlDialect)),
    fields: (t) => fieldsOf(t, changed),
  });
  return { created, changes };
}

/** Options of the field that looks up a record by its id. */
export const lookup = <R extends AnyRecord>(record: R, type: TypeOf<R>) => ({
  type,
  nullable: true as const,
  description: `Looks up ${indefinite(record.kind)} by id; null if there is none.`,
  args: idOf(record),
  resolve: (_root: unknown, { id }: { id: Id }, { loaders }: Context) => loaders.record(record, id),
});

/**
 * Options of the field with the record that another refers to. It is nullable where the reference may be absent or
 * outlive what it refers to. Elsewhere it is NOT_FOUND if the child comes from an earlier read or a replayed call.
 *
 * @param field the reference
 */
export function parent<P extends AnyRecord>(
  child: AnyRecord,
  field: string,
  parentRecord: P,
  type: TypeOf<P>,
  description: string,
) {
  const { presence, reference } = (child.fields as Fields)[field]!;
  const nullable = presence === 'optional' || reference!.holds.where !== undefined;
  return {
    type,
    description,
    // For the resolver's type, which is the same for both.
    nullable: nullable as true,
    resolve(from: object, _args: object, { loaders }: Context) {
      const id = (from as Readonly<Record<string, Id | undefined>>)[field];
      if (id === undefined) return null;
      const found = loaders.record(parentRecord, id);
      if (nullable) return found;
      // Runs for each row: no function is made if the record is at hand.
      if (found instanceof Promise) return found.then((record) => record ?? gone(parentRecord, id));
      return found ?? gone(parentRecord, id);
    },
  };
}

const gone = ({ kind }: AnyRecord, id: Id): never => {
  throw notFound(kind, id);
};

/** Options of the field that creates a record. @param more about it */
export const creation = <R extends AnyRecord, T extends object>(
  record: R,
  type: TypeOf<R>,
  input: InputRef<T>,
  more = '',
) => ({
  type,
  description: `Creates ${indefinite(record.kind)}.${more} ${uniquenessDescription(record)}`.trimEnd(),
  args: inputOf(input, `${capitalised(`the ${record.kind}`)}.`),
  resolve: write((tables, given: { input: object }) => tables.table(record).insert(given.input as NewOf<R>)),
});

/** Options of the field that changes a record. */
export const update = <R extends AnyRecord, T extends object>(
  record: R,
  type: TypeOf<R>,
  input: InputRef<T>,
) => ({
  type,
  description: `Updates ${indefinite(record.kind)}. ${uniquenessDescription(record)}`.trimEnd(),
  args: { ...idOf(record), ...inputOf(input, 'The changes.') },
  resolve: write((tables, given: { id: Id; input: object }, context) =>
    tables.table(record).update(given.id, given.input as PatchOf<R>, unchanged(record.type, context)),
  ),
});

/** Options of the field that deletes a record. @param what is deleted, by default the record */
export const deletion = (record: AnyRecord, what = indefinite(record.kind)) => ({
  description: `Deletes ${what} and returns its id. ${deletionDescription(record)}`.trimEnd(),
  args: idOf(record),
  resolve: write((tables, { id }: { id: Id }, context) =>
    tables.table(record).remove(id, unchanged(record.type, context)),
  ),
});

/** The arguments of a list, besides those of its pages. */
interface ListArguments<F extends object> {
  filter: InputRef<F>;
  sort: EnumRef<never, string>;
  /** Of which records the list is, by default all of a kind. */
  description?: string;
  /** What the items are called, by default the plural of the record. */
  items?: string;
  /** The view of the record that the list has, if it is not the record's own. */
  view?: string;
}

const argumentsOf = <F extends object>(
  record: AnyRecord,
  { filter, sort, items = record.plural, view }: ListArguments<F>,
  below?: string,
) =>
  builder.args((t) => ({
    filter: t.field({ type: filter, description: `Which ${items} to return.` }),
    sort: t.field({ type: sort, ...sortArgument(record, view, below) }),
  }));

type Given<F> = Omit<ConnectionArguments, 'filter'> & { filter?: F | null | undefined };

/** Options of the connection of all records of a kind. */
export const list = <R extends AnyRecord, F extends object>(
  record: R,
  type: TypeOf<R>,
  given: ListArguments<F>,
) => ({
  type,
  description: given.description ?? `All ${record.plural}, by default ordered by id.`,
  args: argumentsOf(record, given),
  resolve: (_root: unknown, args: Given<F>, context: Context) =>
    recordConnection<R>(record, args as ConnectionArguments, context),
});

/** Options of the connection of the records that refer to a parent by a field. */
export const childList = <R extends AnyRecord, F extends object>(
  record: R,
  type: TypeOf<R>,
  field: FieldNameOf<R>,
  given: ListArguments<F> & { description: string },
) => ({
  type,
  description: given.description,
  args: argumentsOf(record, given, field),
  resolve: ({ id }: { id: Id }, args: Given<F>, context: Context) =>
    childConnection<R>(record, field, id, args as ConnectionArguments, context),
});

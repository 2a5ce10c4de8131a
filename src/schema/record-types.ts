import type { EnumRef, InputRef, ObjectFieldsShape, ObjectRef } from '@pothos/core';
import { memoized } from '../foundation/cache.ts';
import { notFound } from '../foundation/errors.ts';
import type { Choices, Computed, Field, FieldKind } from '../foundation/fields.ts';
import type { Id } from '../foundation/id.ts';
import { type Inputs, inputFields, newRules, patchRules } from '../foundation/record-input.ts';
import {
  type AnyDeclaration,
  type Fields,
  groupedFields,
  blockersOf,
  parentField,
  type RecordOf,
  referencesOf,
  refusalsDescription,
} from '../foundation/record.ts';
import { MAX_GROUPS } from '../foundation/meter.ts';
import type { Group } from '../foundation/table.ts';
import { graphqlDialect } from '../foundation/validation.ts';
import { capitalised, grouped, indefinite } from '../foundation/words.ts';
import { BigIntScalar, OPAQUE, withRule } from './arguments.ts';
import type { Builder, Types } from './builder.ts';
import { childConnection, recordConnection } from './list-connection.ts';
import type { Context } from './context.ts';
import { checkedBy } from './input-rules.ts';
import {
  type ConnectionArguments,
  type RequestedFilter,
  readList,
  prefixOptions,
  prefixFields,
  rangesOf,
  sortArgument,
  sortEnum,
} from './list-arguments.ts';
import { implementNode } from './node.ts';
import { unchanged, writeTo } from './write.ts';

/** A record of any declaration. */
type Row = { id: Id };

/** The GraphQL types of values. */
export const SCALARS = {
  id: 'ID',
  integer: 'Int',
  bigInteger: 'BigInt',
  boolean: 'Boolean',
  text: 'String',
  instant: 'DateTime',
  date: 'Date',
} as const satisfies Readonly<Record<FieldKind, string>>;

/** Adds the type of big integers, if a schema has any. */
const addBigInt = memoized((builder: Builder) => builder.addScalarType('BigInt', BigIntScalar));

const enumTypesOf = memoized((builder: Builder) =>
  memoized(({ name, description, descriptions, values }: Choices) => {
    const entries = values.map((value) => [value, { value, description: descriptions[value] }]);
    return builder.enumType(name, { description, values: Object.fromEntries(entries) });
  }),
);

/** The GraphQL type of an enumeration. */
export const enumOf = <T extends string>(builder: Builder, choices: Choices<T>) =>
  enumTypesOf(builder)(choices) as EnumRef<never, T>;

/** The GraphQL type of a field. Pothos infers types from literals alone, so the static type is a stand-in. */
export function typeOf(builder: Builder, { choices, kind, opaque, maxItems }: Field) {
  if (kind === 'bigInteger') addBigInt(builder);
  const type = choices ? enumOf(builder, choices) : SCALARS[opaque ? 'id' : kind];
  return (maxItems === undefined ? type : [type]) as 'String';
}

/** Options of an output field, from its declaration. An opaque id weighs the same as any id. */
export const exposed = <F extends Field>({ description, presence, opaque, maxLength, maxItems }: F) => ({
  description: `${description}.`,
  nullable: (presence === 'optional') as F['presence'] extends 'optional' ? true : false,
  extensions: { ...(!opaque && { maxLength }), maxItems },
});

/** The types of ranges, by the kind of field. */
const RANGES: Readonly<Partial<Record<FieldKind, { name: string; type: 'Int' }>>> = {
  integer: { name: 'IntRange', type: 'Int' },
  bigInteger: { name: 'BigIntRange', type: SCALARS.bigInteger as 'Int' },
  instant: { name: 'DateTimeRange', type: SCALARS.instant as 'Int' },
  date: { name: 'DateRange', type: SCALARS.date as 'Int' },
};

const rangeTypesOf = memoized((builder: Builder) =>
  memoized(({ name, type }: { name: string; type: 'Int' }) =>
    builder.inputType(name, {
      description: 'A range of values, to which both ends belong.',
      fields: (t) => ({
        min: t.field({ type, description: 'The smallest value; open by default.' }),
        max: t.field({ type, description: 'The largest value; open by default.' }),
      }),
    }),
  ),
);

/** Maps the values of an object. */
const mapped = <T, U>(values: Readonly<Record<string, T>>, make: (value: T, name: string) => U) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(value, name)]));

const typesOf = memoized((builder: Builder) =>
  memoized((declaration: AnyDeclaration) => builder.objectRef<Row>(declaration.type)),
);

/** The GraphQL type of a record. Other types may refer to it before its domain implements it. */
export const typeOfRecord = <R extends AnyDeclaration>(builder: Builder, record: R) =>
  typesOf(builder)(record) as unknown as ObjectRef<Types, RecordOf<R>>;

/** Adds the GraphQL type of a record. @param fields fields besides those of the declaration */
export function addType(
  builder: Builder,
  declaration: AnyDeclaration,
  descriptions: Descriptions,
  fields?: ObjectFieldsShape<Types, Row>,
): void {
  const { interfaces, nodeId } = implementNode(builder, declaration);
  typesOf(builder)(declaration).implement({
    interfaces,
    description: declaration.description,
    fields: (t) => ({
      nodeId: t.id(nodeId),
      id: t.exposeID('id', exposed(declaration.id)),
      ...mapped(inputFields(declaration), (field, name) =>
        t.expose(name as never, { type: typeOf(builder, field), ...exposed(field) } as never),
      ),
      ...mapped(declaration.computed as Readonly<Record<string, Computed>>, (field) =>
        t.field({
          type: typeOf(builder, field),
          ...exposed(field),
          resolve: (from) => (field.compute(from as never) ?? null) as string,
        }),
      ),
      ...Object.fromEntries(
        referencesOf(declaration).map(({ field }) => {
          const name = parentField(field);
          return [
            name,
            t.field(parent(builder, declaration, field, descriptions[`${declaration.type}.${name}`])),
          ];
        }),
      ),
      ...fields?.(t),
    }),
  });
}

/**
 * Options of the field for a record's parent. It is nullable if the reference is optional or may outlive the parent.
 * Otherwise it fails with NOT_FOUND if the parent was deleted after the child was read, or in a replayed call.
 */
function parent(builder: Builder, child: AnyDeclaration, field: string, description?: string) {
  const { presence, reference } = (child.fields as Fields)[field]!;
  const record = reference!.parent as AnyDeclaration;
  const nullable = presence === 'optional' || reference!.where !== undefined;
  return {
    type: typesOf(builder)(record),
    description:
      description ??
      `The ${record.kind} that \`${field}\` refers to${nullable ? '; null if there is none' : ''}.`,
    // Always true for TypeScript, so that the resolver has one type.
    nullable: nullable as true,
    resolve(from: object, _args: object, { loaders }: Context) {
      const id = (from as Readonly<Record<string, Id | undefined>>)[field];
      if (id === undefined) return null;
      const loaded = loaders.record(record, id);
      if (nullable) return loaded;
      // Runs for each entry, so it creates no function if the record is available.
      if (loaded instanceof Promise) return loaded.then((row) => row ?? gone(record, id));
      return loaded ?? gone(record, id);
    },
  };
}

const gone = ({ kind }: AnyDeclaration, id: Id): never => {
  throw notFound(kind, id);
};

/** The differences of a view's lists from the record's. */
interface View {
  /** The domain of the view. */
  view?: string;
  filters?: readonly string[];
  /** The name for items of its lists. */
  items?: string;
}

/**
 * Adds the lists of a record, or the list of its view, with filters and orders: the list of all, and the lists below
 * each parent.
 */
export function addLists(
  builder: Builder,
  declaration: AnyDeclaration,
  type: ObjectRef<Types, Row>,
  descriptions: Descriptions = {},
  { view, filters = declaration.filters, items = declaration.plural }: View = {},
): void {
  const prefix = view === undefined ? declaration.type : capitalised(view);
  const fields = declaration.fields as Fields;
  const connection = builder.connectionObject(
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
  const finders = prefixFields(declaration, view);
  const ranges = rangesOf(declaration, view);
  // An input type has at least one field.
  const filter =
    filters.length + finders.length + ranges.length > 0 &&
    builder.inputType(`${prefix}Filter`, {
      description: descriptions[`${prefix}Filter`] ?? `Selects ${items} that match all given conditions.`,
      fields: (t) => ({
        ...Object.fromEntries(
          filters.map((name) => {
            const field = fields[name]!;
            const one = typeOf(builder, field);
            const type = (field.choices ? [one] : one) as 'String';
            const which = field.choices ? 'one of these' : 'this';
            const description =
              descriptions[`${prefix}Filter.${name}`] ?? `Those whose \`${name}\` is ${which}.`;
            return [name, t.field({ type, description })];
          }),
        ),
        ...mapped(Object.fromEntries(finders), (_, name) => t.string(prefixOptions(declaration, name))),
        ...mapped(Object.fromEntries(ranges), ({ kind }, name) =>
          t.field({
            type: rangeTypesOf(builder)(RANGES[kind]!),
            description: `Those whose \`${name}\` is in this range. They are ordered by ${name}.`,
          }),
        ),
      }),
    });
  const sort = builder.enumType(`${prefix}Sort`, sortEnum(declaration, view));
  const listArguments = (below?: string) =>
    builder.args((t) => ({
      ...(filter && { filter: t.field({ type: filter, description: `Which ${items} to return.` }) }),
      sort: t.field({ type: sort, ...sortArgument(declaration, view, below) }),
    }));
  const all = {
    type,
    description:
      descriptions[`Query.${view ?? declaration.plural}`] ?? `All ${items}, by default ordered by id.`,
    args: listArguments(),
    resolve: (_root: unknown, args: object, context: Context) =>
      recordConnection(declaration, args as ConnectionArguments, context),
  };
  builder.queryField(view ?? declaration.plural, (t) => t.connection(all as never, connection as never));
  if (view !== undefined) return;
  addCounts(builder, declaration, filter as InputRef<object> | false);
  for (const { field, parent, list } of referencesOf(declaration)) {
    const above = typesOf(builder)(parent);
    const below = {
      type,
      description:
        descriptions[`${above.name}.${list}`] ??
        `The ${items} of this ${parent.kind}, by default ordered by id.`,
      args: listArguments(field),
      resolve: ({ id }: Row, args: object, context: Context) =>
        childConnection(declaration, field, id, args as ConnectionArguments, context),
    };
    builder.objectField(above, list, (t) => t.connection(below as never, connection as never));
  }
}

/** Adds the field that counts records by values. @param filter the filter type of the record's lists */
function addCounts(builder: Builder, declaration: AnyDeclaration, filter: InputRef<object> | false): void {
  const { type, kind, plural } = declaration;
  const fields = declaration.fields as Fields;
  const groups = groupedFields(declaration);
  if (groups.length === 0) return;
  const group = builder.enumType(`${type}Group`, {
    description: `What ${plural} are counted by.`,
    values: Object.fromEntries(groups.map((name) => [name, { value: name, description: `By ${name}.` }])),
  });
  const count = builder.objectRef<Group>(`${type}Count`).implement({
    description: `How many ${plural} have the same values of what they are counted by.`,
    fields: (t) => ({
      count: t.exposeInt('count', { description: `How many ${plural}, at least one.` }),
      ...Object.fromEntries(
        groups.flatMap((name) => {
          const { reference } = fields[name]!;
          const value = t.field({
            ...exposed(fields[name]!),
            type: typeOf(builder, fields[name]!),
            nullable: true,
            description: `Their ${name}; null if they are not counted by it.`,
            resolve: ({ values }) => (values[name] ?? null) as string | null,
          });
          if (!reference) return [[name, value]];
          const { resolve, ...options } = parent(builder, declaration, name);
          return [
            [name, value],
            [
              parentField(name),
              t.field({
                ...options,
                nullable: true,
                description: `The ${reference.parent.kind} that they refer to; null if they are not counted by it.`,
                resolve: ({ values }, args, context) => resolve(values, args, context) as never,
              }),
            ],
          ];
        }),
      ),
    }),
  });
  /** The maximum number of groups. */
  const sizeBy = ({ by, filter }: CountArguments): number =>
    Math.min(
      MAX_GROUPS,
      [...new Set(by)].reduce((size, name) => {
        const value = filter?.[name];
        const { choices, kind } = fields[name]!;
        if (value != null) return size * (Array.isArray(value) ? value.length : 1);
        return size * (choices?.values.length ?? (kind === 'boolean' ? 2 : MAX_GROUPS));
      }, 1),
    );
  const read = ({ by, filter }: CountArguments) => readList(declaration, {}, filter ?? {}, undefined, by);
  builder.queryField(`${kind}Counts`, (t) =>
    t.field({
      type: [count],
      description: `Counts ${plural} by some of their values: the groups that there are, at most ${grouped(MAX_GROUPS)}, in the order of their values.`,
      args: {
        by: t.arg({
          type: [group],
          required: true,
          description: 'What they are counted by, at least one.',
          extensions: withRule((counted: CountArguments) =>
            counted.by.length === 0 ? [{ path: 'by', message: BY_RULE }] : read(counted).issues,
          ),
        }),
        ...(filter && { filter: t.arg({ type: filter as never, description: `Which ${plural} to count.` }) }),
      },
      extensions: { maxItems: sizeBy },
      resolve: (_root, args, { loaders }) => {
        const counted = args as unknown as CountArguments;
        return loaders.countsBy(
          declaration,
          [...new Set(counted.by)] as never,
          read(counted).filter as never,
        );
      },
    }),
  );
}

/** The rule for the argument `by`, as used in messages. */
const BY_RULE = 'must name at least one field';

interface CountArguments {
  by: readonly string[];
  filter?: RequestedFilter | null | undefined;
}

/** Options of an input field. @param more added to its description */
const accepted = (builder: Builder, field: Field, more = '') => ({
  type: typeOf(builder, field),
  description: `${field.description}${field.limits === undefined ? '' : `, ${field.limits}`}${more}.`,
});

/** The arguments of operations on objects with opaque ids. @param kind the kind of object, such as `key` */
export const opaqueArguments = (builder: Builder, kind: string) => ({
  ID: builder.args((t) => ({
    id: t.id({ required: true, description: `The id of the ${kind}.`, extensions: OPAQUE }),
  })),
  inputOf: <T extends object>(type: InputRef<T>, description: string) =>
    builder.args((t) => ({ input: t.field({ type, required: true, description, extensions: OPAQUE }) })),
});

/** The inputs that create and change a record: `NewPet` and `PetPatch`. */
export function inputsOf(builder: Builder, { kind, type, choosesId, fields, changeable = fields }: Inputs) {
  const presences = Object.values(fields).map(({ presence }) => presence);
  const created = builder.inputType(`New${type}`, {
    description: `Input for a new ${kind}.${presences.includes('required') ? '' : ' No field is required.'}`,
    ...checkedBy(newRules(fields, graphqlDialect, choosesId)),
    fields: (t) => ({
      ...(choosesId && { id: t.id({ description: `The id of the ${kind}; assigned by default.` }) }),
      ...mapped(fields, (field) =>
        t.field({
          ...accepted(builder, field, field.presence === 'defaulted' ? `; defaults to ${field.default}` : ''),
          required: field.presence === 'required',
        }),
      ),
    }),
  });
  const changes = builder.inputType(`${type}Patch`, {
    description: `Changes to ${indefinite(kind)}. Omitted fields stay as they are${presences.includes('optional') ? '; null removes a value' : ''}.`,
    ...checkedBy(patchRules(changeable, graphqlDialect)),
    fields: (t) =>
      mapped(changeable, (field) =>
        t.field(accepted(builder, field, field.presence === 'optional' ? '; null removes it' : '')),
      ),
  });
  return { created, changes };
}

/**
 * Adds the fields that get, create, change and delete a record.
 *
 * @param declarations all records of the schema, which may refer to this one
 */
export function addOperations(
  builder: Builder,
  declaration: AnyDeclaration,
  descriptions: Descriptions,
  declarations: readonly AnyDeclaration[],
): void {
  const { kind } = declaration;
  const type = typesOf(builder)(declaration);
  const blockers = blockersOf(declarations, declaration);
  const inputs = inputsOf(builder, { ...declaration, fields: inputFields(declaration) });
  const [create, update, remove] = [
    `create${declaration.type}`,
    `update${declaration.type}`,
    `delete${declaration.type}`,
  ];
  const describe = (name: string, otherwise: string, more: string) =>
    `${descriptions[`Mutation.${name}`] ?? otherwise} ${more}`.trimEnd();
  const id = builder.args((t) => ({ id: t.id({ required: true, description: `The id of the ${kind}.` }) }));
  builder.queryField(kind, (t) =>
    t.field({
      type,
      nullable: true,
      description: `Looks up ${indefinite(kind)} by id; null if there is none.`,
      args: id,
      resolve: (_root, { id }, { loaders }) => loaders.record(declaration, id),
    }),
  );
  builder.mutationFields((t) => ({
    [create]: t.field({
      type,
      description: describe(
        create,
        `Creates ${indefinite(kind)}.`,
        refusalsDescription(declaration, 'creation', blockers),
      ),
      args: { input: t.arg({ type: inputs.created, required: true, description: `The ${kind}.` }) },
      resolve: writeTo(declaration, (table, { input }: { input: object }) => table.insert(input as never)),
    }),
    [update]: t.field({
      type,
      description: describe(
        update,
        `Updates ${indefinite(kind)}.`,
        refusalsDescription(declaration, 'update', blockers),
      ),
      args: { ...id, input: t.arg({ type: inputs.changes, required: true, description: 'The changes.' }) },
      resolve: writeTo(declaration, (table, { id, input }: { id: Id; input: object }, context) =>
        table.update(id, input as never, unchanged(declaration.type, context)),
      ),
    }),
    [remove]: t.id({
      description: describe(
        remove,
        `Deletes ${indefinite(kind)} and returns its id.`,
        refusalsDescription(declaration, 'deletion', blockers),
      ),
      args: id,
      resolve: writeTo(declaration, (table, { id }: Row, context) =>
        table.remove(id, unchanged(declaration.type, context)),
      ),
    }),
  }));
}

/** Replacements for derived descriptions, by GraphQL schema coordinates, such as `Pet.category`, or event type. */
export type Descriptions = Readonly<Record<string, string>>;

import SchemaBuilder from '@pothos/core';
import RelayPlugin from '@pothos/plugin-relay';
import ValidationPlugin from '@pothos/plugin-validation';
import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLOutputType,
  GraphQLScalarType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  isSpecifiedScalarType,
  parseType,
  typeFromAST,
} from 'graphql';
import type { z } from 'zod';
import { validationFailed } from '../foundation/errors.ts';
import { DATE_RULE, INSTANT_RULE } from '../foundation/fields.ts';
import type { Id } from '../foundation/id.ts';
import { formatInstant, parseDate, parseInstant } from '../foundation/instant.ts';
import { andThen, type MaybePromise } from '../foundation/turns.ts';
import { issuesOf } from '../foundation/validation.ts';
import { IdScalar, textScalar, withRule } from './arguments.ts';
import { Connection, connectionRule } from './list-connection.ts';
import type { Context } from './context.ts';

const DateTimeScalar = textScalar(
  {
    name: 'DateTime',
    description: 'An RFC 3339 date-time. Returned in UTC, with milliseconds only if they are not zero.',
    specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
    extensions: { maxLength: 30 },
  },
  INSTANT_RULE,
  (value) => {
    const instant = typeof value === 'string' ? parseInstant(value) : null;
    return instant === null ? null : formatInstant(instant);
  },
);

const DateScalar = textScalar(
  {
    name: 'Date',
    description: 'A calendar day: 2026-11-22.',
    specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
    extensions: { maxLength: 10 },
  },
  DATE_RULE,
  (value) => (typeof value === 'string' ? parseDate(value) : null),
);

/** For output only. */
const JsonScalar = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'A JSON value. Integers are exact, even beyond 2^53.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
});

/** The extensions of a cursor, which weighs what an id does. */
const CURSOR = { maxLength: 19 };

interface SchemaTypes {
  Context: Context;
  Scalars: {
    ID: { Input: Id; Output: Id };
    DateTime: { Input: string; Output: string };
    JSON: { Input: never; Output: unknown };
    Date: { Input: string; Output: string };
    BigInt: { Input: string; Output: string };
  };
  Connection: { totalCount: () => MaybePromise<number> };
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
}

/** The Pothos builder of one schema, to which domains and features add their types. */
export type Builder = ReturnType<typeof newBuilder>;
export type Types = Builder['$inferSchemaTypes'];

/**
 * Creates a builder without domains. The validation plugin checks inputs by their rules (`checkedBy`), and failures
 * become VALIDATION_FAILED.
 */
export function newBuilder() {
  const builder = new SchemaBuilder<SchemaTypes>({
    defaultFieldNullability: false,
    plugins: [RelayPlugin, ValidationPlugin],
    relay: {
      nodeQueryOptions: false,
      nodesQueryOptions: false,
      cursorType: 'String',
      nodesOnConnection: { description: 'The items without cursors.' },
      edgesFieldOptions: { nullable: false, description: 'The items with their cursors.' },
      nodeFieldOptions: { nullable: false, description: 'The item.' },
      cursorFieldOptions: {
        description: 'The position of the item, for `after` and `before`.',
        extensions: CURSOR,
      },
      pageInfoFieldOptions: { description: 'The position of the page in the list.' },
      pageInfoTypeOptions: { description: 'The position of a page in its list (Relay cursor connections).' },
      hasNextPageFieldOptions: { description: 'Whether there are items after this page.' },
      hasPreviousPageFieldOptions: { description: 'Whether there are items before this page.' },
      startCursorFieldOptions: { description: 'The cursor of the first item.', extensions: CURSOR },
      endCursorFieldOptions: { description: 'The cursor of the last item.', extensions: CURSOR },
      firstArgOptions: {
        description: 'Number of items from the start, 1 to 100. Defaults to 20 without `last`.',
        // The rule covers all four arguments.
        extensions: withRule(connectionRule),
      },
      lastArgOptions: { description: 'Number of items from the end, 1 to 100.' },
      afterArgOptions: { description: 'Only items after this cursor.' },
      beforeArgOptions: { description: 'Only items before this cursor.' },
    },
    validation: {
      // All rules are zod schemas.
      validationError: ({ issues }) => validationFailed(issuesOf(issues as z.core.$ZodIssue[])),
    },
  });
  builder.addScalarType('ID', IdScalar);
  builder.addScalarType('DateTime', DateTimeScalar);
  builder.addScalarType('Date', DateScalar);
  builder.addScalarType('JSON', JsonScalar);
  builder.globalConnectionField('totalCount', (t) =>
    t.int({
      description: 'Total number of items in the list. Counted only if selected.',
      resolve: (connection) => connection.totalCount(),
    }),
  );
  builder.queryType({ description: 'Root type of all queries.' });
  builder.mutationType({
    description: 'Root type of all mutations. An `Idempotency-Key` header makes a request safe to retry.',
  });
  return builder;
}

/** Builds the schema, with {@link IdScalar} in place of graphql-js's ID, which Pothos always uses. */
export function buildSchema(builder: Builder): GraphQLSchema {
  const schema = builder.toSchema();
  const types = schema.getTypeMap();
  types[IdScalar.name] = IdScalar;
  const withIdScalar = <T extends GraphQLType>(type: T): T =>
    getNamedType(type).name === IdScalar.name
      ? (typeFromAST(schema, parseType(String(type)) as never) as unknown as T)
      : type;
  for (const type of Object.values(types)) {
    if (type.name.startsWith('__')) continue;
    if (isInputObjectType(type))
      for (const field of Object.values(type.getFields())) field.type = withIdScalar(field.type);
    else if (isObjectType(type) || isInterfaceType(type))
      for (const field of Object.values(type.getFields())) {
        field.type = withIdScalar(field.type);
        for (const arg of field.args as unknown as { type: GraphQLInputType }[])
          arg.type = withIdScalar(arg.type);
        if (isObjectType(type)) adaptResolver(type.name, field);
      }
  }
  return schema;
}

function adaptResolver(type: string, field: GraphQLField<unknown, Context>): void {
  const { name, resolve = defaultFieldResolver } = field;
  // PageInfo's properties may be promises: compiled code awaits the results of resolvers, but not properties.
  if (type === 'PageInfo') field.resolve = (...call) => defaultFieldResolver(...call);
  else if (field.resolve && isLeafType(getNamedType(field.type))) serializeIn(field);
  if (!isListType(getNullableType(field.type)) || !isCompositeType(getNamedType(field.type))) return;
  // Pothos would create an edge for each node of a page just to read the node from it.
  const list: typeof resolve =
    name === 'nodes' && field.resolve
      ? (source, ...rest) => (source instanceof Connection ? source.nodes : resolve(source, ...rest))
      : resolve;
  // Yields to other requests between entries, since each may have many fields.
  field.resolve = (source, args, context, info) =>
    andThen(list(source, args, context, info) as MaybePromise<readonly unknown[]>, (entries) =>
      context.loaders.entries(entries),
    );
}

/**
 * Makes a resolver serialise its values, as graphql-js does afterwards. Compiled code doesn't: it relies on their type,
 * which is certain only for declared fields.
 */
export function serializeIn(field: GraphQLField<unknown, Context>): void {
  const leaf = getNamedType(field.type) as GraphQLLeafType;
  if (!isSpecifiedScalarType(leaf) && !isEnumType(leaf)) return;
  const resolve = field.resolve!;
  const serialized = serializerOf(field.type, leaf);
  field.resolve = (...call) => andThen(resolve(...call), serialized);
}

function serializerOf(type: GraphQLOutputType, leaf: GraphQLLeafType): (value: unknown) => unknown {
  const nullable = getNullableType(type);
  const one = isListType(nullable) ? serializerOf(nullable.ofType, leaf) : undefined;
  return (value) => {
    if (value == null) return value;
    // As graphql-js does with a returned error.
    if (value instanceof Error) throw value;
    if (!one) return leaf.serialize(value);
    return Array.isArray(value) ? value.map(one) : value;
  };
}

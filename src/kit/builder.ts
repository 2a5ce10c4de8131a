import SchemaBuilder from '@pothos/core';
import RelayPlugin from '@pothos/plugin-relay';
import ValidationPlugin from '@pothos/plugin-validation';
import { GraphQLScalarType } from 'graphql';
import type { z } from 'zod';
import { validationFailed } from '../foundation/errors.ts';
import { DATE_RULE, INSTANT_RULE } from '../foundation/fields.ts';
import type { Id } from '../foundation/id.ts';
import { formatInstant, parseDate, parseInstant } from '../foundation/instant.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import { issuesOf } from '../foundation/validation.ts';
import { IdScalar, textScalar, withRule } from './arguments.ts';
import { connectionRule } from './connection.ts';
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
  // Slightly more than the longest text in any record.
  extensions: { maxLength: 2_000 },
});

/** Cursors are ids. Every text field declares its maximum length, because its weight in the cost depends on it. */
const CURSOR = { maxLength: 19 };

/**
 * The Pothos builder to which every domain adds its types. Importing it has no side effects and reads no
 * environment. Inputs are checked with their domain's rules by the validation plugin (`checkedBy`), and failures become
 * VALIDATION_FAILED.
 */
export const builder = new SchemaBuilder<{
  Context: Context;
  Scalars: {
    ID: { Input: Id; Output: Id };
    DateTime: { Input: string; Output: string };
    JSON: { Input: never; Output: unknown };
    Date: { Input: string; Output: string };
  };
  Connection: { totalCount: () => MaybePromise<number> };
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
}>({
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
      // One rule for all four.
      extensions: withRule(connectionRule),
    },
    lastArgOptions: { description: 'Number of items from the end, 1 to 100.' },
    afterArgOptions: { description: 'Only items after this cursor.' },
    beforeArgOptions: { description: 'Only items before this cursor.' },
  },
  validation: {
    // All rules are those of zod.
    validationError: ({ issues }) =>
      validationFailed(issuesOf(issues as z.core.$ZodIssue[]).map(withoutArgument)),
  },
});

/** Drops the argument name, so that REST and GraphQL report the same path. */
const withoutArgument = (issue: { path: string; message: string }) => ({
  ...issue,
  path: issue.path.replace(/^input\./, ''),
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

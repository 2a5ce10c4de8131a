import { DATE_RULE } from '../../foundation/fields.ts';
import { parseDate } from '../../foundation/instant.ts';
import type { QueryParameter } from '../../rows/parameter.ts';
import type { Resource } from '../../rows/route.ts';
import { type Shape, selectionOf } from '../../rows/shape.ts';
import { count, date, schemaRef, text } from '../../rows/shape-fields.ts';
import { USAGE_TRANSPORTS } from '../../store/store.ts';
import { HISTORY_KEPT } from '../../store/usage.ts';

/** How a day is given. */
const DATE = {
  schema: { type: 'string', format: 'date' },
  rule: DATE_RULE,
  read: (value: string) => parseDate(value) ?? undefined,
} as const;

/** What was counted, of a day and of an operation. */
const counts = {
  requests: count('Requests that passed'),
  units: count('Units charged'),
  refused: count('Requests refused by the limits of the plan'),
};

export const UsageDayShape = {
  type: 'UsageDay',
  listName: 'UsageDays',
  listDescription: 'Days with use, oldest first.',
  description: 'What the API key did on one day.',
  fields: {
    date: date('The day in UTC'),
    ...counts,
  },
  example: { date: '2026-11-22', requests: 120, units: 131, refused: 2 },
} satisfies Shape;

export const UsageOperationShape = {
  type: 'UsageOperation',
  listName: 'UsageOperations',
  listDescription: 'What was used on a day, most units first.',
  description: 'What the API key did by one operation over one transport.',
  fields: {
    operation: text(
      100,
      'The GraphQL root field, also for the REST operation that corresponds to it; or `other`',
    ),
    transport: schemaRef('UsageTransport', `How it was used: ${USAGE_TRANSPORTS.join(', ')}`),
    ...counts,
  },
  example: { operation: 'pets', transport: 'rest', requests: 100, units: 100, refused: 2 },
} satisfies Shape;

const dateParameter = (name: string, description: string): QueryParameter => ({ name, description, ...DATE });

const common = {
  tag: 'Store',
  method: 'GET',
  stability: 'beta',
  status: 200,
  list: 'whole',
} as const;

export const usageDays: Resource = {
  // A key always sees itself.
  scope: null,
  shape: UsageDayShape,
  routes: [
    {
      ...common,
      operationId: 'listUsage',
      path: '/usage',
      kind: 'usage',
      summary: 'List the days on which the API key was used',
      description: `Days are kept for ${HISTORY_KEPT} days. The latest requests may be missing for up to 10 seconds.`,
      document: `query listUsage($from: Date, $to: Date) { page: usage(from: $from, to: $to) ${selectionOf(UsageDayShape)} }`,
      shape: UsageDayShape,
      query: [
        dateParameter('from', 'The first day, in UTC; by default 6 days before the last.'),
        dateParameter('to', 'The last day, in UTC; today by default.'),
      ],
    },
  ],
};

export const usageOperations: Resource = {
  scope: null,
  shape: UsageOperationShape,
  schemas: {
    UsageTransport: {
      type: 'string',
      enum: [...USAGE_TRANSPORTS],
      description: 'How an operation was used.',
      example: 'rest',
    },
  },
  routes: [
    {
      ...common,
      operationId: 'listUsageOfDay',
      path: '/usage/{date}',
      pathParameter: 'date',
      pathValue: {
        ...DATE,
        description: 'A day in UTC.',
        example: '2026-11-22',
        namesRecord: false,
      },
      kind: 'usage',
      summary: 'List what the API key did on one day',
      description: 'At most 100 operations; the rest is summed as `other`.',
      document: `query listUsageOfDay($date: Date!) {
        parent: usage(from: $date, to: $date) { page: operations ${selectionOf(UsageOperationShape)} }
      }`,
      shape: UsageOperationShape,
    },
  ],
};

import { firstDateKept, MAX_OPERATIONS } from '../../access/usage-history.ts';
import { validationFailed } from '../../foundation/errors.ts';
import { choice, choices, date, integer, text } from '../../foundation/fields.ts';
import { MAX_INT32 } from '../../foundation/id.ts';
import { formatDate, DAY } from '../../foundation/instant.ts';
import type { Builder } from '../../schema/builder.ts';
import { declaredType } from '../../schema/declared-type.ts';
import { fieldParameter } from '../../rest-routes/parameter.ts';
import type { Resource } from '../../rest-routes/route.ts';
import { declaredShape, selectionOf } from '../../rest-routes/shape.ts';
import {
  USAGE_TRANSPORTS,
  type UsageDay,
  type UsageOperation,
  HISTORY_KEPT,
  sumOf,
} from '../../store/stored-usage-history.ts';

const day = date('The day in UTC', '2026-11-22');

/** The number of days shown by default, including today. */
const DEFAULT_DAYS = 7;

/**
 * The days to read: by default the last week, without days that are no longer kept.
 *
 * @param now milliseconds since 1970
 * @throws VALIDATION_FAILED if `from` is after the last day
 */
function rangeOf({ from, to }: Partial<Record<'from' | 'to', string | null | undefined>>, now: number) {
  const last = to ?? formatDate(now);
  const first = from ?? formatDate(Date.parse(last) - (DEFAULT_DAYS - 1) * DAY);
  if (first > last)
    throw validationFailed([
      {
        path: 'from',
        message: to == null ? `must not be after today (${last} in UTC)` : 'must not be after to',
      },
    ]);
  const kept = firstDateKept(now);
  // An instance whose clock is ahead may have counted for the next day.
  const latest = formatDate(now + DAY);
  return { from: first < kept ? kept : first, to: last > latest ? latest : last };
}

/** The maximum number of days in a range, for its price; all kept days for invalid dates. */
function daysIn({ from, to }: { from?: unknown; to?: unknown }, now: number): number {
  if (from == null) return DEFAULT_DAYS;
  const days = (to == null ? now : Date.parse(String(to))) - Date.parse(String(from));
  return Number.isNaN(days) ? HISTORY_KEPT : Math.min(HISTORY_KEPT, Math.max(1, Math.floor(days / DAY) + 1));
}

/** The counts of a day or an operation. */
const counts = {
  requests: integer(0, MAX_INT32, 'Requests that passed', 120),
  units: integer(0, MAX_INT32, 'Units charged', 131),
  refused: integer(0, MAX_INT32, 'Requests refused by the limits of the plan', 2),
};

const Day = {
  type: 'UsageDay',
  listName: 'UsageDays',
  listDescription: 'Days with use, oldest first.',
  description: 'What the API key did on one day.',
  fields: { date: day, ...counts },
};

export const UsageTransports = choices('UsageTransport', 'How an operation was used.', USAGE_TRANSPORTS);

const Operation = {
  type: 'UsageOperation',
  listName: 'UsageOperations',
  listDescription: 'What was used on a day, most units first.',
  description: 'What the API key did by one operation over one transport.',
  fields: {
    operation: text(
      100,
      'The GraphQL root field, also for the REST operation that corresponds to it; or `other`',
      'pets',
    ),
    transport: choice(UsageTransports, 'How it was used', 'rest'),
    ...counts,
  },
};

/** Adds the usage of the API key. */
export function addUsage(builder: Builder): void {
  const OperationType = declaredType<UsageOperation>(builder, Operation);

  const DayType = declaredType<UsageDay & Omit<UsageOperation, 'operation' | 'transport'>>(
    builder,
    Day,
    (t) => ({
      operations: t.field({
        type: [OperationType],
        description: `What was used, most units first; at most ${MAX_OPERATIONS}, the rest summed as \`other\`.`,
        extensions: { maxItems: MAX_OPERATIONS },
        resolve: ({ operations }) => [...operations],
      }),
    }),
  );

  builder.queryField('usage', (t) =>
    t.field({
      type: [DayType],
      description: `The days on which the API key was used, oldest first. Kept for ${HISTORY_KEPT} days; the latest requests may be missing for up to 10 seconds.`,
      args: {
        from: t.arg({ type: 'Date', description: 'The first day; by default 6 days before the last.' }),
        to: t.arg({ type: 'Date', description: 'The last day; today by default.' }),
      },
      extensions: { maxItems: (args: { from?: unknown; to?: unknown }) => daysIn(args, Date.now()) },
      resolve: async (_root, args, { history, loaders, principal: { id }, now }) => {
        const { from, to } = rangeOf(args, now());
        const days = await loaders.list(() => history.days(id, from, to));
        return days.map((day) => ({ ...day, ...sumOf(day.operations) }));
      },
    }),
  );
}

const common = {
  tag: 'Store',
  method: 'GET',
  stability: 'beta',
  status: 200,
  list: 'whole',
  kind: 'usage',
} as const;

const dayShape = declaredShape(Day);
const operationShape = declaredShape(Operation);

export const usage: Resource = {
  // A key may always see its own usage.
  scope: null,
  shapes: [dayShape, operationShape],
  routes: [
    {
      ...common,
      operationId: 'listUsage',
      path: '/usage',
      summary: 'List the days on which the API key was used',
      description: `Days are kept for ${HISTORY_KEPT} days. The latest requests may be missing for up to 10 seconds.`,
      document: `query listUsage($from: Date, $to: Date) { page: usage(from: $from, to: $to) ${selectionOf(dayShape)} }`,
      shape: dayShape,
      query: [
        fieldParameter('from', 'The first day, in UTC; by default 6 days before the last.', day),
        fieldParameter('to', 'The last day, in UTC; today by default.', day),
      ],
    },
    {
      ...common,
      operationId: 'listUsageOfDay',
      path: '/usage/{date}',
      pathParameter: 'date',
      pathValue: {
        ...fieldParameter('date', 'A day in UTC.', day),
        example: '2026-11-22',
        namesRecord: false,
      },
      summary: 'List what the API key did on one day',
      description: `At most ${MAX_OPERATIONS} operations; the rest is summed as \`other\`.`,
      document: `query listUsageOfDay($date: Date!) {
        parent: usage(from: $date, to: $date) { page: operations ${selectionOf(operationShape)} }
      }`,
      shape: operationShape,
    },
  ],
};

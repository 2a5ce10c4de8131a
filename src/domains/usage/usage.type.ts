import { MAX_OPERATIONS, sumOf } from '../../access/usage-history.ts';
import { builder } from '../../schema/builder.ts';
import { shown } from '../../schema/shape-fields.ts';
import type { UsageDay, UsageOperation } from '../../store/store.ts';
import { counts } from './usage.routes.ts';
import { daysIn, rangeOf } from './usage.ts';

type Counts = Pick<UsageOperation, 'requests' | 'units' | 'refused'>;

const UsageOperationType = builder.objectRef<UsageOperation>('UsageOperation').implement({
  description: 'What the API key did by one operation over one transport.',
  fields: (t) => ({
    operation: t.exposeString('operation', {
      description: 'The root field, also for the REST operation that corresponds to it; or `other`.',
      extensions: { maxLength: 100 },
    }),
    transport: t.exposeString('transport', {
      description: 'rest, graphql, stream, webhook or mcp.',
      extensions: { maxLength: 10 },
    }),
    requests: t.exposeInt('requests', shown(counts.requests)),
    units: t.exposeInt('units', shown(counts.units)),
    refused: t.exposeInt('refused', shown(counts.refused)),
  }),
});

const UsageDayType = builder.objectRef<UsageDay & Counts>('UsageDay').implement({
  description: 'What the API key did on one day.',
  fields: (t) => ({
    date: t.field({ type: 'Date', description: 'The day in UTC.', resolve: ({ date }) => date }),
    requests: t.exposeInt('requests', shown(counts.requests)),
    units: t.exposeInt('units', shown(counts.units)),
    refused: t.exposeInt('refused', shown(counts.refused)),
    operations: t.field({
      type: [UsageOperationType],
      description: `What was used, most units first; at most ${MAX_OPERATIONS}, the rest summed as \`other\`.`,
      extensions: { maxItems: MAX_OPERATIONS },
      resolve: ({ operations }) => operations as UsageOperation[],
    }),
  }),
});

builder.queryField('usage', (t) =>
  t.field({
    type: [UsageDayType],
    description:
      'The days on which the API key was used, oldest first. Kept for 92 days; the latest requests may be missing for up to 10 seconds.',
    args: {
      from: t.arg({ type: 'Date', description: 'The first day; by default 6 days before the last.' }),
      to: t.arg({ type: 'Date', description: 'The last day; today by default.' }),
    },
    extensions: { maxItems: (args: { from?: unknown; to?: unknown }) => daysIn(args, Date.now()) },
    resolve: async (_root, args, { history, principal, now }) => {
      const { from, to } = rangeOf(args, now());
      const days = await history.days(principal.id, from, to);
      return days.map((day) => ({ ...day, ...sumOf(day.operations) }));
    },
  }),
);

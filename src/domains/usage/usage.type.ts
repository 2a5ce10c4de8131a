import { MAX_OPERATIONS } from '../../access/usage-history.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { builder } from '../../kit/builder.ts';
import { shapeType } from '../../kit/shape-type.ts';
import type { UsageDay, UsageOperation, UsageTotal } from '../../store/store.ts';
import { HISTORY_KEPT } from '../../store/usage.ts';
import { UsageDayShape, UsageOperationShape } from './usage.routes.ts';
import { daysIn, rangeOf } from './usage.ts';

/** A day of a range, the operations of which are read once for all of its days. */
type Day = UsageTotal & { operations(): MaybePromise<readonly UsageOperation[]> };

const countOperations = (days: readonly UsageDay[]): number =>
  days.reduce((sum, { operations }) => sum + operations.length, 0);

const UsageOperationType = shapeType<UsageOperation>(UsageOperationShape, {
  transport: { extensions: { maxLength: 10 } },
});

const UsageDayType = shapeType<Day>(UsageDayShape, {}, (t) => ({
  operations: t.field({
    type: [UsageOperationType],
    description: `What was used, most units first; at most ${MAX_OPERATIONS}, the rest summed as \`other\`.`,
    extensions: { maxItems: MAX_OPERATIONS },
    resolve: (day) => day.operations() as MaybePromise<UsageOperation[]>,
  }),
}));

builder.queryField('usage', (t) =>
  t.field({
    type: [UsageDayType],
    description: `The days on which the API key was used, oldest first. Kept for ${HISTORY_KEPT} days; the latest requests may be missing for up to 10 seconds.`,
    args: {
      from: t.arg({ type: 'Date', description: 'The first day; by default 6 days before the last.' }),
      to: t.arg({ type: 'Date', description: 'The last day; today by default.' }),
    },
    extensions: { maxItems: (args: { from?: unknown; to?: unknown }) => daysIn(args, Date.now()) },
    resolve: async (_root, args, { history, loaders, principal: { id }, now }) => {
      const { from, to } = rangeOf(args, now());
      const totals = await loaders.list(() => history.totals(id, from, to));
      const read = async () => {
        const days = await loaders.list(() => history.days(id, from, to), countOperations);
        return new Map(days.map((day) => [day.date, day.operations]));
      };
      let known: ReturnType<typeof read> | undefined;
      return totals.map((total) => ({
        ...total,
        operations: () => {
          known ??= read();
          return known.then((operations) => operations.get(total.date) ?? []);
        },
      }));
    },
  }),
);

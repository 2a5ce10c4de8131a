import type { Document } from 'mongodb';
import {
  chargeUsage,
  DAY,
  FIRST_BAN,
  LONGEST_BAN,
  MINUTE,
  MOST_DOUBLINGS,
  STRIKE_WINDOW,
  STRIKES_TO_BAN,
  unusedState,
} from '../../access/usage.ts';
import { unavailable } from '../../errors.ts';
import type { Charge, ChargeResult, UsageState } from '../store.ts';
import type { UsageDocument } from './collections.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './faults.ts';

/** Two are enough, unless the document is removed at this very moment. */
const MOST_ATTEMPTS = 5;
/** Use is kept for as long again as anything of it can count. */
const KEEP = 2 * DAY;

/**
 * Charges a key in one atomic command, so that never more than the limit passes, however many instances charge at
 * once: the server itself computes the rules of `chargeUsage`, from the state as it is at that moment.
 */
export async function charge(
  { collections, options, now }: Database,
  request: Charge,
): Promise<ChargeResult> {
  const _id = request.apiKeyId;
  if (request.cost === 0) {
    const found = await collections.usage.findOne({ _id }, options);
    return chargeUsage(found ? toUsage(found) : unusedState(), request);
  }
  const pipeline = chargePipeline(request);
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const charged = await collections.usage.findOneAndUpdate({ _id }, pipeline, {
      ...options,
      returnDocument: 'after',
    });
    if (charged) return { outcome: charged.outcome, usage: toUsage(charged) };
    // The first charge of this key. Not an upsert: of several at once, one could fail or charge twice.
    const unused = {
      _id,
      ...unusedState(),
      outcome: 'passed' as const,
      forgetAt: new Date(now() + KEEP),
    };
    await collections.usage.insertOne(unused, options).catch((fault) => {
      if (!isDuplicateKey(fault)) throw fault;
    });
  }
  throw unavailable(new Error(`The use of ${_id} is forgotten as soon as it is stored.`));
}

/** The state of a usage document; Number because sums that outgrow int32 come back as int64. */
export const toUsage = (usage: UsageDocument): UsageState => ({
  minuteStart: Number(usage.minuteStart),
  minuteUsed: Number(usage.minuteUsed),
  dayStart: Number(usage.dayStart),
  dayUsed: Number(usage.dayUsed),
  refusedUntil: Number(usage.refusedUntil),
  strikes: usage.strikes.map(Number),
  bannedUntil: Number(usage.bannedUntil),
  bans: Number(usage.bans),
});

const either = (condition: unknown, yes: unknown, no: unknown) => ({ $cond: [condition, yes, no] });

/**
 * `chargeUsage` as an update pipeline, stage by stage in the same order; a test compares the two. `$step` carries what
 * one stage knows to the next and is removed in the end.
 */
export function chargePipeline({ cost, limits, now }: Charge): Document[] {
  return [
    {
      $set: {
        step: {
          banned: { $gt: ['$bannedUntil', now] },
          minuteOpen: { $lt: [now, { $add: ['$minuteStart', MINUTE] }] },
          dayOpen: { $lt: [now, { $add: ['$dayStart', DAY] }] },
          isStrike: { $lt: [now, '$refusedUntil'] },
        },
      },
    },
    {
      $set: {
        'step.minuteStart': { $cond: ['$step.minuteOpen', '$minuteStart', now] },
        'step.minuteUsed': { $add: [{ $cond: ['$step.minuteOpen', '$minuteUsed', 0] }, cost] },
        'step.dayStart': { $cond: ['$step.dayOpen', '$dayStart', now] },
        'step.dayUsed': { $add: [{ $cond: ['$step.dayOpen', '$dayUsed', 0] }, cost] },
        'step.strikes': {
          $cond: [
            '$step.isStrike',
            {
              $concatArrays: [
                { $filter: { input: '$strikes', as: 'at', cond: { $gt: ['$$at', now - STRIKE_WINDOW] } } },
                [now],
              ],
            },
            '$strikes',
          ],
        },
      },
    },
    {
      $set: {
        'step.minuteFits': { $lte: ['$step.minuteUsed', limits.perMinute] },
        'step.dayFits': { $lte: ['$step.dayUsed', limits.perDay] },
      },
    },
    {
      $set: {
        outcome: either(
          '$step.banned',
          'banned',
          either(
            { $and: ['$step.minuteFits', '$step.dayFits'] },
            'passed',
            either({ $lt: [{ $size: '$step.strikes' }, STRIKES_TO_BAN] }, 'refused', 'banned'),
          ),
        ),
        'step.opensAt': {
          $max: [
            { $cond: ['$step.minuteFits', 0, { $add: ['$step.minuteStart', MINUTE] }] },
            { $cond: ['$step.dayFits', 0, { $add: ['$step.dayStart', DAY] }] },
          ],
        },
        'step.bans': {
          $cond: [
            { $and: [{ $gt: ['$bans', 0] }, { $lt: [now, { $add: ['$bannedUntil', DAY] }] }] },
            { $add: ['$bans', 1] },
            1,
          ],
        },
      },
    },
    {
      $set: {
        'step.passed': { $eq: ['$outcome', 'passed'] },
        'step.refused': { $and: [{ $not: ['$step.banned'] }, { $ne: ['$outcome', 'passed'] }] },
        'step.bansNow': { $and: [{ $not: ['$step.banned'] }, { $eq: ['$outcome', 'banned'] }] },
        'step.retryAfter': {
          $max: [1, { $ceil: { $divide: [{ $subtract: ['$step.opensAt', now] }, 1000] } }],
        },
        'step.ban': {
          $min: [
            LONGEST_BAN,
            {
              $multiply: [
                FIRST_BAN,
                { $pow: [2, { $min: [{ $subtract: ['$step.bans', 1] }, MOST_DOUBLINGS] }] },
              ],
            },
          ],
        },
      },
    },
    {
      $set: {
        minuteStart: { $cond: ['$step.passed', '$step.minuteStart', '$minuteStart'] },
        minuteUsed: { $cond: ['$step.passed', '$step.minuteUsed', '$minuteUsed'] },
        dayStart: { $cond: ['$step.passed', '$step.dayStart', '$dayStart'] },
        dayUsed: { $cond: ['$step.passed', '$step.dayUsed', '$dayUsed'] },
        refusedUntil: {
          $cond: [
            '$step.refused',
            { $max: ['$refusedUntil', { $add: [now, { $multiply: ['$step.retryAfter', 1000] }] }] },
            '$refusedUntil',
          ],
        },
        strikes: {
          $cond: ['$step.bansNow', [], { $cond: ['$step.refused', '$step.strikes', '$strikes'] }],
        },
        bannedUntil: { $cond: ['$step.bansNow', { $add: [now, '$step.ban'] }, '$bannedUntil'] },
        bans: { $cond: ['$step.bansNow', '$step.bans', '$bans'] },
      },
    },
    {
      $set: {
        // From the server's clock on, because it is the server that forgets. A charge under a ban changes nothing at
        // all, so that hammering costs no write.
        forgetAt: {
          $cond: [
            '$step.banned',
            '$forgetAt',
            {
              $add: [
                '$$NOW',
                {
                  $add: [
                    { $max: [0, { $subtract: [{ $max: ['$bannedUntil', '$refusedUntil'] }, now] }] },
                    KEEP,
                  ],
                },
              ],
            },
          ],
        },
      },
    },
    { $unset: 'step' },
  ];
}

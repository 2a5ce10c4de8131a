import type { Command } from 'commander';
import { bindingOf } from '../access/api-keys.ts';
import { isNetwork, MAX_NETWORKS } from '../access/networks.ts';
import { PLANS } from '../access/plans.ts';
import { SCOPES } from '../domains/scopes.ts';
import { MAX_INT32 } from '../foundation/id.ts';
import { parseDuration } from '../foundation/instant.ts';
import { name as nameRule } from '../foundation/validation.ts';
import { type ApiKeyChanges, PLAN_NAMES, type PlanName } from '../store/api-keys.ts';
import type { Limits } from '../store/usage.ts';
import { type Options, refuse, several } from './command.ts';

/** The last moment with a year of four digits, which is as far as an RFC 3339 date goes. */
const LAST_MOMENT = Date.parse('9999-12-31T23:59:59Z');
const LIST_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
/** What clears a restriction. */
const ANY = 'any';

/** Adds the options of `create` and `update`. */
export const addKeyOptions = (command: Command): Command =>
  command
    .option('--name <name>', 'the owner, 1 to 200 characters')
    .option('--plan <plan>', `its limits: ${PLAN_NAMES.join(', ')}`)
    .option('--per-minute <n>', 'requests per minute, with --plan enterprise')
    .option('--per-day <n>', 'requests per day, with --plan enterprise')
    .option(
      '--scope <scopes>',
      `what the key may do, separated by commas; everything by default, as with any: ${SCOPES.join(', ')}; write includes read`,
      several,
    )
    .option('--expires <when>', 'for how long it is valid: 12h, 90d, 1w; a date in UTC: 2027-01-31; or never')
    .option(
      '--allow <networks>',
      `the networks it may be used from, at most ${MAX_NETWORKS}, separated by commas: 10.0.0.0/8,2001:db8::/32; or any`,
      several,
    )
    .option(
      '--documents <list>',
      'the list of GraphQL documents it may run; with report:LIST others are only counted; or any',
    );

/** Whether a text can be the name of a list of documents. */
export const isListName = (text: string): boolean => LIST_NAME.test(text) && text !== ANY;

/**
 * Reads what a key is to be. Options that are not given are absent, and null clears.
 *
 * @param now milliseconds since 1970
 * @throws UsageError with all that is wrong
 */
export function readKeyOptions(options: Options, now: number): ApiKeyChanges {
  const changes: ApiKeyChanges = {};
  const faults: string[] = [];
  const { name, plan, expires, scope, allow, documents } = options;
  if (name !== undefined) {
    const parsed = nameRule().safeParse(name);
    if (parsed.success) changes.name = parsed.data;
    else faults.push(`--name ${parsed.error.issues[0]!.message}.`);
  }
  if (plan !== undefined && !PLAN_NAMES.includes(plan as PlanName))
    faults.push(`--plan must be one of ${PLAN_NAMES.join(', ')}.`);
  else {
    if (plan !== undefined) changes.plan = plan as PlanName;
    const limits = readLimits(plan as PlanName | undefined, options, faults);
    if (limits) changes.limits = limits;
  }
  if (expires !== undefined) changes.expiresAt = readExpiry(expires, now, faults);
  if (scope !== undefined) {
    const rule = `--scope must be any, or some of ${SCOPES.join(', ')}`;
    changes.scopes = readList(scope, (text) => SCOPES.includes(text), faults, rule);
  }
  if (allow !== undefined) {
    changes.allow = readList(allow, isNetwork, faults, '--allow must be a network such as 10.0.0.0/8');
    if ((changes.allow?.length ?? 0) > MAX_NETWORKS)
      faults.push(`--allow must have at most ${MAX_NETWORKS} networks.`);
  }
  if (documents !== undefined) {
    if (documents !== ANY && !isListName(bindingOf(documents).list))
      faults.push('--documents must be the name of a list, report: and a name, or any.');
    changes.documents = documents === ANY ? null : documents;
  }
  refuse(faults);
  return changes;
}

function readLimits(plan: PlanName | undefined, options: Options, faults: string[]): Limits | undefined {
  const given = [options.perMinute, options.perDay];
  if (plan !== 'enterprise') {
    if (given.some((value) => value !== undefined))
      faults.push('--per-minute and --per-day require --plan enterprise.');
    return (plan && PLANS[plan].limits) ?? undefined;
  }
  const [perMinute, perDay] = given.map((value = '') =>
    /^[1-9]\d{0,9}$/.test(value) ? Number(value) : 0,
  ) as [number, number];
  const isLimit = (value: number) => value >= 1 && value <= MAX_INT32;
  if (!isLimit(perMinute) || !isLimit(perDay)) {
    faults.push(`--plan enterprise requires --per-minute and --per-day, integers from 1 to ${MAX_INT32}.`);
  }
  return { perMinute, perDay };
}

function readExpiry(text: string, now: number, faults: string[]): number | null {
  if (text === 'never') return null;
  const duration = parseDuration(text);
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  const isDate = !Number.isNaN(date) && new Date(date).toISOString().startsWith(text);
  if (duration === null && !isDate)
    faults.push('--expires must be a duration such as 90d, 12h or 1w, a date such as 2027-01-31, or never.');
  const expiresAt = duration === null ? date : now + duration;
  if (expiresAt <= now) faults.push('--expires must be in the future.');
  if (expiresAt > LAST_MOMENT) faults.push('--expires must be before the year 10000.');
  return expiresAt;
}

/** @returns null for `any` */
function readList(
  given: string,
  isValid: (text: string) => boolean,
  faults: string[],
  rule: string,
): string[] | null {
  const values = [...new Set(given.split(',').map((value) => value.trim()))];
  if (values.length === 1 && values[0] === ANY) return null;
  const invalid = values.filter((value) => !isValid(value)).map((value) => `"${value}"`);
  if (invalid.length > 0) faults.push(`${rule}, not ${invalid.join(', ')}.`);
  return values;
}

import { type Command, InvalidArgumentError, Option } from 'commander';
import { bindingOf, isListName } from '../access/api-keys.ts';
import { isNetwork, MAX_NETWORKS } from '../access/networks.ts';
import { PLANS } from '../access/plans.ts';
import { api } from '../api.ts';
import { MAX_INT32 } from '../foundation/id.ts';
import { parseDate, parseDuration } from '../foundation/instant.ts';
import { MAX_NAME_LENGTH, name } from '../foundation/validation.ts';
import { type ApiKeyChanges, PLAN_NAMES, type PlanName } from '../store/stored-api-keys.ts';
import { integerFrom, parsing } from './command.ts';

/** The last second of year 9999, at which RFC 3339 ends. */
const LAST_MOMENT = Date.parse('9999-12-31T23:59:59Z');
/** The option value that clears a restriction. */
const ANY = 'any';

/** The options of `create` and `update`. */
export interface KeyOptions {
  name?: string;
  plan?: PlanName;
  perMinute?: number;
  perDay?: number;
  scope?: readonly string[] | typeof ANY;
  expires?: number | typeof ANY;
  allow?: readonly string[] | typeof ANY;
  documents?: string;
}

/** Adds the options of `create`, which requires a name and a plan, or `update`. */
export function addKeyOptions(command: Command, isNew: boolean): Command {
  const limit = integerFrom(1, MAX_INT32);
  const scopes = api.scopes.join(', ');
  return command
    .option(
      '--name <name>',
      `the owner, 1 to ${MAX_NAME_LENGTH} characters`,
      parsing(
        (text) => name().safeParse(text).data ?? null,
        `It must have 1 to ${MAX_NAME_LENGTH} characters, and no control characters.`,
      ),
    )
    .addOption(new Option('--plan <plan>', 'its limits').choices(PLAN_NAMES))
    .option('--per-minute <n>', 'requests per minute, with --plan enterprise', limit)
    .option('--per-day <n>', 'requests per day, with --plan enterprise', limit)
    .option(
      '--scope <scopes>',
      `what the key may do, separated by commas; everything by default, as with any: ${scopes}; write includes read`,
      listFrom(
        (scope) => api.scopes.includes(scope),
        api.scopes.length,
        `It must be any, or some of ${scopes}.`,
      ),
    )
    .option(
      '--expires <when>',
      'when it expires: after 12h, 90d, 1w; on a date in UTC, 2027-01-31; or never',
      parsing(
        readExpiry,
        'It must be a duration such as 90d, a date such as 2027-01-31, or never; not past.',
      ),
    )
    .option(
      '--allow <networks>',
      `the networks it may be used from, at most ${MAX_NETWORKS}, separated by commas: 10.0.0.0/8,2001:db8::/32; or any`,
      listFrom(
        isNetwork,
        MAX_NETWORKS,
        `It must be any, or at most ${MAX_NETWORKS} networks such as 10.0.0.0/8.`,
      ),
    )
    .option(
      '--documents <list>',
      'the list of GraphQL documents it may run; with report:LIST others are only counted; or any',
      parsing(
        (text) => (text === ANY || isListName(bindingOf(text).list) ? text : null),
        'It must be the name of a list, report: and a name, or any.',
      ),
    )
    .hook('preAction', () => {
      const { name, plan, perMinute, perDay } = command.opts<KeyOptions>();
      if (isNew && !(name && plan)) command.error('create requires --name and --plan.');
      if (plan === 'enterprise' ? !perMinute || !perDay : (perMinute ?? perDay))
        command.error(
          'Name --plan enterprise, --per-minute and --per-day together: a key has all three or none.',
        );
    });
}

/** The requested settings of a key: absent for missing options, null to clear a restriction. */
export function changesOf(options: KeyOptions): ApiKeyChanges {
  const { name, plan, perMinute, perDay, scope, expires, allow, documents } = options;
  const limits = perMinute && perDay ? { perMinute, perDay } : undefined;
  const values = {
    name,
    plan,
    limits: (plan && PLANS[plan].limits) ?? limits,
    scopes: scope,
    expiresAt: expires,
    allow,
    documents,
  };
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([property, value]) => [property, value === ANY && property !== 'name' ? null : value]),
  );
}

function readExpiry(text: string): number | typeof ANY | null {
  if (text === 'never') return ANY;
  const duration = parseDuration(text);
  const expiresAt = duration === null ? Date.parse(parseDate(text) ?? '') : Date.now() + duration;
  return expiresAt > Date.now() && expiresAt <= LAST_MOMENT ? expiresAt : null;
}

/** Parses comma-separated values, also of a repeated option. */
const listFrom =
  (isValid: (text: string) => boolean, max: number, rule: string) =>
  (text: string, before: readonly string[] | typeof ANY = []): readonly string[] | typeof ANY => {
    const values = [...new Set([...before, ...text.split(',').map((value) => value.trim())])];
    if (String(values) === ANY) return ANY;
    if (values.length > max || !values.every(isValid)) throw new InvalidArgumentError(rule);
    return values;
  };

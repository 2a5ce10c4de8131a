import { parseArgs } from 'node:util';
import { newApiKey, newSecret } from '../access/api-keys.ts';
import { usedToday } from '../access/limiter.ts';
import { readConfig } from '../config.ts';
import { parseDuration } from '../duration.ts';
import { openStore } from '../store/open.ts';
import { type ApiKey, type Limits, PLAN_NAMES, type PlanName, type Store } from '../store/store.ts';

const USAGE = `Usage: npm run --silent keys -- COMMAND

  create --name NAME --plan ${PLAN_NAMES.join('|')} [--per-minute N --per-day N] [--json]
  list [--json]
  revoke ID [--json]
  rotate ID [--grace 24h] [--json]

The store is the one that MONGODB_URI or DATA_FILE names; the server may run meanwhile. A key is shown once, when it is
made. A revocation is in force within 5 seconds.
`;

/** A fault of the caller: its message is all there is to say. */
class UsageError extends Error {}

async function main(): Promise<void> {
  const { values: options, positionals } = parse();
  const [command, id, ...rest] = positionals;
  if (options.help || command === undefined) return print(USAGE.trimEnd());
  if (rest.length > 0 || (id !== undefined && (command === 'create' || command === 'list'))) {
    throw new UsageError(`Too many words.\n\n${USAGE}`);
  }
  const actions: Record<string, ((store: Store) => Promise<void>) | undefined> = {
    create: (store) => create(store, options),
    list: (store) => list(store, options.json),
    revoke: (store) => revoke(store, required(id), options.json),
    rotate: (store) => rotate(store, required(id), duration(options.grace), options.json),
  };
  const action = Object.hasOwn(actions, command) ? actions[command] : undefined;
  if (!action) throw new UsageError(`Unknown command ${command}.\n\n${USAGE}`);
  const store = await openStore(readConfig(process.env), 'tool');
  try {
    await action(store);
  } finally {
    await store.close();
  }
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        name: { type: 'string' },
        plan: { type: 'string' },
        'per-minute': { type: 'string' },
        'per-day': { type: 'string' },
        grace: { type: 'string', default: '24h' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`);
  }
}

type Options = ReturnType<typeof parse>['values'];

async function create(store: Store, options: Options): Promise<void> {
  const name = options.name?.trim() ?? '';
  if (name === '' || name.length > 200) throw new UsageError('--name must have 1 to 200 characters.');
  const plan = options.plan as PlanName;
  if (!PLAN_NAMES.includes(plan)) throw new UsageError(`--plan must be one of ${PLAN_NAMES.join(', ')}.`);
  const { key, apiKey } = newApiKey({ name, plan, limits: limitsOf(plan, options), now: Date.now() });
  await store.createApiKey(apiKey);
  show(
    options.json,
    { id: apiKey.id, key, plan },
    `${apiKey.id} (${plan})\n${key}\n\nThe key is shown this once.`,
  );
}

function limitsOf(plan: PlanName, options: Options): Limits | undefined {
  const given = [options['per-minute'], options['per-day']];
  if (plan !== 'enterprise') {
    if (given.some((value) => value !== undefined)) {
      throw new UsageError('--per-minute and --per-day go with --plan enterprise.');
    }
    return undefined;
  }
  const [perMinute, perDay] = given.map((value) =>
    /^[1-9]\d{0,9}$/.test(value ?? '') ? Number(value) : 0,
  ) as [number, number];
  if (!isLimit(perMinute) || !isLimit(perDay)) {
    throw new UsageError(
      '--plan enterprise needs --per-minute and --per-day, whole numbers from 1 to 2147483647.',
    );
  }
  return { perMinute, perDay };
}

const isLimit = (value: number): boolean => value >= 1 && value <= 2147483647;

async function list(store: Store, json: boolean): Promise<void> {
  const keys = await store.apiKeys();
  const usage = await store.usage(keys.map(({ id }) => id));
  const now = Date.now();
  const rows = keys.map((key, index) => ({
    id: key.id,
    name: key.name,
    plan: key.plan,
    perMinute: key.limits.perMinute,
    perDay: key.limits.perDay,
    usedToday: usedToday(usage[index] ?? null, now),
    prefixes: key.secrets
      .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
      .map(({ prefix }) => prefix),
    createdAt: new Date(key.createdAt).toISOString(),
    ...(key.revokedAt !== undefined && { revokedAt: new Date(key.revokedAt).toISOString() }),
  }));
  if (json) return print(JSON.stringify(rows, null, 2));
  if (rows.length === 0) return print('There are no keys.');
  for (const row of rows) {
    const state = 'revokedAt' in row ? `revoked ${row.revokedAt}` : `${row.prefixes.join(', ')}…`;
    print(`${row.id}  ${row.plan.padEnd(10)}  today ${row.usedToday}/${row.perDay}  ${state}  ${row.name}`);
  }
}

async function revoke(store: Store, id: string, json: boolean): Promise<void> {
  const key = found(id, await store.revokeApiKey(id, Date.now()));
  show(
    json,
    { id: key.id, plan: key.plan, revokedAt: new Date(key.revokedAt!).toISOString() },
    `${id} is revoked.`,
  );
}

async function rotate(store: Store, id: string, grace: number, json: boolean): Promise<void> {
  const { key, secret } = newSecret();
  const rotated = found(id, await store.rotateApiKey(id, secret, Date.now() + grace));
  show(
    json,
    { id, key, plan: rotated.plan },
    `${id} (${rotated.plan})\n${key}\n\nThe key is shown this once.`,
  );
}

function found(id: string, key: ApiKey | null): ApiKey {
  if (!key) throw new UsageError(`There is no key ${id} that is in use.`);
  return key;
}

function required(id: string | undefined): string {
  if (id === undefined) throw new UsageError(`The ID of a key is missing.\n\n${USAGE}`);
  return id;
}

function duration(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === null) throw new UsageError('--grace must be a time such as 30m, 24h or 7d.');
  return milliseconds;
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const show = (json: boolean, value: object, text: string): void => print(json ? JSON.stringify(value) : text);

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
});

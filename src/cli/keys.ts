import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { newApiKey, newSecret } from '../access/api-keys.ts';
import { usedToday } from '../access/limiter.ts';
import { type Config, readConfig } from '../config.ts';
import { openStore } from '../store/open.ts';
import {
  type ApiKey,
  type ApiKeySecret,
  type Limits,
  PLAN_NAMES,
  type PlanName,
  type Store,
} from '../store/store.ts';
import { formatTable } from './table.ts';

const OPTIONS = {
  name: { type: 'string' },
  plan: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  grace: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type OptionName = keyof typeof OPTIONS;
type Options = ReturnType<typeof parse>['values'];

interface Command {
  /** The arguments after the command name. */
  usage: string;
  help: string;
  /** In addition to --json and --help, which every command accepts. */
  options: readonly OptionName[];
  takesId: boolean;
  /** Whether the command needs an existing store. */
  needsStore: boolean;
  /** Validates the options. @returns the work to do once the store is open */
  prepare(options: Options, id: string): (store: Store) => Promise<void>;
}

const COMMANDS: Record<string, Command> = {
  create: {
    usage: `--name NAME --plan ${PLAN_NAMES.join('|')} [--per-minute N --per-day N] [--json]`,
    help: `Creates a key and prints it. It is shown only once, because only its hash is stored.

  --name        the owner, 1 to 200 characters
  --plan        the plan, which sets its limits
  --per-minute  requests per minute, with --plan enterprise
  --per-day     requests per day, with --plan enterprise`,
    options: ['name', 'plan', 'per-minute', 'per-day'],
    takesId: false,
    needsStore: false,
    prepare: (options) => {
      const request = { name: nameOf(options), plan: planOf(options) };
      const limits = limitsOf(request.plan, options);
      return (store) => create(store, { ...request, limits }, options.json);
    },
  },
  list: {
    usage: '[--json]',
    help: 'Lists all keys with their usage today. Rotated secrets show when they expire.',
    options: [],
    takesId: false,
    needsStore: true,
    prepare: (options) => (store) => list(store, options.json),
  },
  revoke: {
    usage: 'ID [--json]',
    help: 'Revokes a key permanently, within 5 seconds on every instance.',
    options: [],
    takesId: true,
    needsStore: true,
    prepare: (options, id) => (store) => revoke(store, id, options.json),
  },
  rotate: {
    usage: 'ID [--grace 24h] [--json]',
    help: `Gives a key a new secret and prints it. It is shown only once.

  --grace  how long the old secret stays valid: 90s, 30m, 24h, 7d or 0`,
    options: ['grace'],
    takesId: true,
    needsStore: true,
    prepare: (options, id) => {
      const grace = duration(options.grace ?? '24h');
      return (store) => rotate(store, id, grace, options.json);
    },
  },
};

const RUN = 'npm run --silent keys --';

const USAGE = `Usage: ${RUN} COMMAND

${Object.entries(COMMANDS)
  .map(([name, { usage }]) => `  ${name} ${usage}`)
  .join('\n')}

See COMMAND --help for details. Uses the store of MONGODB_URI or DATA_FILE, also while the server is running. A key is
shown only once, when it is created. Revocation takes effect within 5 seconds.`;

/** A mistake of the user: the message is printed without a stack. */
class UsageError extends Error {}

async function main(): Promise<void> {
  const { values: options, positionals } = parse();
  const [name, id, ...rest] = positionals;
  if (name === undefined) {
    const [unexpected] = Object.keys(options).filter((option) => option !== 'help');
    if (unexpected !== undefined) throw usageError(`--${unexpected} needs a command.`);
    return print(USAGE);
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : undefined;
  if (!command) throw usageError(`Unknown command ${name}.`);
  if (options.help) return print(`Usage: ${RUN} ${name} ${command.usage}\n\n${command.help}`);

  const known: readonly string[] = ['json', 'help', ...command.options];
  const unsupported = Object.keys(options).find((option) => !known.includes(option));
  if (unsupported !== undefined) throw usageError(`${name} does not accept --${unsupported}.`, name);
  const surplus = command.takesId ? rest[0] : id;
  if (surplus !== undefined) throw usageError(`${name} does not accept the argument ${surplus}.`, name);
  if (command.takesId && id === undefined) throw usageError(`${name} needs the ID of a key.`, name);

  const work = command.prepare(options, id ?? '');
  const config = readConfig(process.env);
  if (command.needsStore) checkDataFile(config);
  const store = await openStore(config, [], 'tool');
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

function parse() {
  try {
    return parseArgs({ allowPositionals: true, options: OPTIONS });
  } catch (error) {
    // Node appends advice about positional arguments that start with a dash; keep only the first sentence.
    const [sentence] = (error as Error).message.split('. ');
    throw usageError(`${sentence!.replace(/\.$/, '')}.`);
  }
}

const usageError = (message: string, command?: string) =>
  new UsageError(`${message} Try: ${RUN} ${command ? `${command} ` : ''}--help`);

/** A command that only reads must not create a store at a mistyped path. */
function checkDataFile({ MONGODB_URI, DATA_FILE }: Config): void {
  if (MONGODB_URI === undefined && !existsSync(DATA_FILE)) {
    throw new UsageError(`The data file ${DATA_FILE} does not exist. Is DATA_FILE set as for the server?`);
  }
}

function nameOf(options: Options): string {
  const name = options.name?.trim() ?? '';
  if (name === '' || name.length > 200) throw usageError('--name must have 1 to 200 characters.', 'create');
  if (/\p{Cc}/u.test(name)) throw usageError('--name must not contain control characters.', 'create');
  return name;
}

function planOf(options: Options): PlanName {
  const plan = options.plan as PlanName;
  if (!PLAN_NAMES.includes(plan))
    throw usageError(`--plan must be one of ${PLAN_NAMES.join(', ')}.`, 'create');
  return plan;
}

function limitsOf(plan: PlanName, options: Options): Limits | undefined {
  const given = [options['per-minute'], options['per-day']];
  if (plan !== 'enterprise') {
    if (given.some((value) => value !== undefined)) {
      throw usageError('--per-minute and --per-day require --plan enterprise.', 'create');
    }
    return undefined;
  }
  const [perMinute, perDay] = given.map((value) =>
    /^[1-9]\d{0,9}$/.test(value ?? '') ? Number(value) : 0,
  ) as [number, number];
  if (!isLimit(perMinute) || !isLimit(perDay)) {
    throw usageError(
      '--plan enterprise requires --per-minute and --per-day, integers from 1 to 2147483647.',
      'create',
    );
  }
  return { perMinute, perDay };
}

const isLimit = (value: number): boolean => value >= 1 && value <= 2147483647;

const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `30m`, `24h`, `7d` or `0` in milliseconds. */
function duration(text: string): number {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (match) return Number(match[1]) * UNITS[match[2]!]!;
  if (text === '0') return 0;
  throw usageError('--grace must be a duration such as 30m, 24h or 7d.', 'rotate');
}

interface KeyRequest {
  name: string;
  plan: PlanName;
  limits: Limits | undefined;
}

async function create(store: Store, request: KeyRequest, json = false): Promise<void> {
  const { key, apiKey } = newApiKey({ ...request, now: Date.now() });
  await store.createApiKey(apiKey);
  const { id } = apiKey;
  printResult(json, { id, key, plan: request.plan }, [`${id} (${request.plan})`, key, '', SHOWN_ONCE]);
}

const SHOWN_ONCE = 'The key will not be shown again.';

const isAlive =
  (now: number) =>
  ({ expiresAt }: ApiKeySecret): boolean =>
    expiresAt === undefined || expiresAt > now;

async function list(store: Store, json = false): Promise<void> {
  const keys = await store.apiKeys();
  const usage = await store.usage(keys.map(({ id }) => id));
  const now = Date.now();
  const rows = keys.map((key, index) => {
    const secrets = key.secrets.filter(isAlive(now));
    return {
      id: key.id,
      name: key.name,
      plan: key.plan,
      perMinute: key.limits.perMinute,
      perDay: key.limits.perDay,
      usedToday: usedToday(usage[index] ?? null, now),
      prefixes: secrets.map(({ prefix }) => prefix),
      secrets: secrets.map(({ prefix, expiresAt }) => ({
        prefix,
        ...(expiresAt !== undefined && { expiresAt: isoTime(expiresAt) }),
      })),
      createdAt: isoTime(key.createdAt),
      ...(key.revokedAt !== undefined && { revokedAt: isoTime(key.revokedAt) }),
    };
  });
  if (json) return print(JSON.stringify(rows, null, 2));
  if (rows.length === 0) return print('There are no keys.');
  const header = ['ID', 'PLAN', 'USED TODAY', 'PER MINUTE', 'CREATED', 'SECRET', 'NAME'];
  const cells = rows.flatMap(({ revokedAt, secrets, ...row }) => {
    const [secret = '', ...others] =
      revokedAt === undefined ? secrets.map(secretText) : [`revoked ${revokedAt}`];
    const used = `${row.usedToday} of ${row.perDay}`;
    return [
      [row.id, row.plan, used, String(row.perMinute), row.createdAt, secret, row.name],
      ...others.map((other) => ['', '', '', '', '', other, '']),
    ];
  });
  print(formatTable(header, cells).join('\n'));
}

const secretText = ({ prefix, expiresAt }: { prefix: string; expiresAt?: string }): string =>
  expiresAt === undefined ? `${prefix}…` : `${prefix}… until ${expiresAt}`;

async function revoke(store: Store, id: string, json = false): Promise<void> {
  const key = found(id, await store.revokeApiKey(id, Date.now()));
  const revokedAt = isoTime(key.revokedAt!);
  printResult(json, { id: key.id, plan: key.plan, revokedAt }, [`${id} is revoked.`]);
}

async function rotate(store: Store, id: string, grace: number, json = false): Promise<void> {
  const { key, secret } = newSecret();
  const now = Date.now();
  const rotated = found(id, await store.rotateApiKey(id, secret, now + grace));
  const others = rotated.secrets.filter(({ hash }) => hash !== secret.hash).filter(isAlive(now));
  const ends = others.map(
    ({ prefix, expiresAt }) => `The old secret ${prefix}… works until ${isoTime(expiresAt!)}.`,
  );
  printResult(json, { id, key, plan: rotated.plan }, [
    `${id} (${rotated.plan})`,
    key,
    '',
    SHOWN_ONCE,
    ...(ends.length > 0 ? ends : ['The old secret stops working within 5 seconds.']),
  ]);
}

function found(id: string, key: ApiKey | null): ApiKey {
  if (!key) throw new UsageError(`There is no active key ${id}.`);
  return key;
}

/** RFC 3339, to the second. */
const isoTime = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const printResult = (json: boolean, value: object, lines: readonly string[]): void =>
  print(json ? JSON.stringify(value) : lines.join('\n'));

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
});

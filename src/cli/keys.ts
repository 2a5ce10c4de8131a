import { bindingOf, newApiKey, newSecret } from '../access/api-keys.ts';
import { usedToday } from '../access/limiter.ts';
import { summarised, sumOf } from '../access/usage-history.ts';
import { parseDuration } from '../foundation/duration.ts';
import { formatDate } from '../foundation/instant.ts';
import {
  type ApiKey,
  type ApiKeyChanges,
  type ApiKeySecret,
  PLAN_NAMES,
  type Store,
} from '../store/store.ts';
import { DAY, HISTORY_KEPT } from '../store/usage.ts';
import { KEY_HELP, KEY_USAGE, readKeyOptions } from './key-options.ts';
import { formatTable } from './table.ts';
import {
  type Call,
  type Command,
  isoTime,
  openBesideServer,
  type Report,
  runTool,
  UsageError,
} from './tool.ts';

/** Days of usage shown by default. */
const DEFAULT_DAYS = 30;

const PLAN = PLAN_NAMES.join('|');

const COMMANDS: Record<string, Command> = {
  create: {
    usage: `--name NAME --plan ${PLAN} ${KEY_USAGE}`,
    help: `Creates a key and prints it. It is shown only once, because only its hash is stored.

${KEY_HELP}`,
    createsStore: true,
    run: create,
  },
  update: {
    usage: `ID [--name NAME] [--plan ${PLAN}] ${KEY_USAGE}`,
    help: `Changes a key, within 5 seconds on every instance. What is not given stays as it is.

${KEY_HELP}`,
    run: update,
  },
  list: {
    usage: '[--json]',
    help: 'Lists all keys with their usage today and what they may do. Rotated secrets show when they expire.',
    run: list,
  },
  usage: {
    usage: `ID [--days ${DEFAULT_DAYS}] [--json]`,
    help: `Shows what a key did, by day and operation. The latest requests may be missing for up to 10 seconds.

  --days  the number of days, today included: 1 to ${HISTORY_KEPT}`,
    run: showUsage,
  },
  revoke: {
    usage: 'ID [--json]',
    help: 'Revokes a key permanently, within 5 seconds on every instance.',
    run: revoke,
  },
  rotate: {
    usage: 'ID [--grace 24h] [--json]',
    help: `Gives a key a new secret and prints it. It is shown only once. Everything else about the key stays.

  --grace  how long the old secret stays valid: 90s, 30m, 24h, 7d or 0`,
    run: rotate,
  },
};

async function create({ options, open }: Call): Promise<Report> {
  const now = Date.now();
  const properties = readKeyOptions({ name: '', plan: '', ...options }, now);
  const store = await open();
  await checkList(store, properties);
  // A new key has nothing to clear.
  const given = Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== null));
  const { key, apiKey } = newApiKey({ ...(given as Pick<ApiKey, 'name' | 'plan'>), now });
  await store.createApiKey(apiKey);
  const { id, plan } = apiKey;
  return { value: { id, key, plan }, lines: [`${id} (${plan})`, key, '', SHOWN_ONCE] };
}

async function update({ options, args: [id], open }: Call): Promise<Report> {
  const changes = readKeyOptions(options, Date.now());
  if (Object.keys(changes).length === 0)
    throw new UsageError('update needs an option that says what to change.');
  const store = await open();
  await checkList(store, changes);
  const key = existing(id!, await store.updateApiKey(id!, changes));
  const restrictions = restrictionsOf(key);
  const { name, plan, limits } = key;
  const shown = Object.entries(restrictions).map(
    ([property, value]) => `  ${property}: ${[value].flat().join(', ')}`,
  );
  return {
    value: { id, name, plan, ...limits, ...restrictions },
    lines: [`${id} (${plan}) ${name}`, ...shown],
  };
}

/** @throws UsageError if there is no such list of documents */
async function checkList(store: Store, { documents }: ApiKeyChanges): Promise<void> {
  if (documents == null) return;
  const { list } = bindingOf(documents);
  if ((await store.documents(list)).length === 0) throw new UsageError(`There is no list ${list}.`, 1);
}

/** What a key may do, for output. */
const restrictionsOf = ({ scopes, expiresAt, allow, documents }: ApiKey) => ({
  ...(scopes && { scopes }),
  ...(expiresAt !== undefined && { expiresAt: isoTime(expiresAt) }),
  ...(allow && { allow }),
  ...(documents !== undefined && { documents }),
});

const SHOWN_ONCE = 'The key will not be shown again.';

const isAlive =
  (now: number) =>
  ({ expiresAt }: ApiKeySecret): boolean =>
    expiresAt === undefined || expiresAt > now;

async function list({ open }: Call): Promise<Report> {
  const store = await open();
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
      ...(key.lastUsedAt !== undefined && { lastUsedAt: isoTime(key.lastUsedAt) }),
      ...restrictionsOf(key),
      ...(key.revokedAt !== undefined && { revokedAt: isoTime(key.revokedAt) }),
    };
  });
  if (rows.length === 0) return { value: rows, lines: ['There are no keys.'] };
  const header = [
    ...['ID', 'PLAN', 'USED TODAY', 'PER MINUTE', 'CREATED', 'LAST USED', 'EXPIRES', 'SECRET'],
    ...['RESTRICTED TO', 'NAME'],
  ];
  const cells = rows.flatMap(({ revokedAt, secrets, ...row }) => {
    const [secret = '', ...others] =
      revokedAt === undefined ? secrets.map(secretText) : [`revoked ${revokedAt}`];
    const used = `${row.usedToday} of ${row.perDay}`;
    const { lastUsedAt = '', expiresAt = '', scopes = [], allow = [], documents } = row;
    const restricted = [...scopes, ...allow, ...(documents === undefined ? [] : [`documents ${documents}`])];
    const times = [row.createdAt, lastUsedAt, expiresAt];
    return [
      [row.id, row.plan, used, String(row.perMinute), ...times, secret, restricted.join(','), row.name],
      ...others.map((other) => header.map((column) => (column === 'SECRET' ? other : ''))),
    ];
  });
  return { value: rows, lines: formatTable(header, cells) };
}

const secretText = ({ prefix, expiresAt }: { prefix: string; expiresAt?: string }): string =>
  expiresAt === undefined ? `${prefix}…` : `${prefix}… until ${expiresAt}`;

async function revoke({ args: [id], open }: Call): Promise<Report> {
  const { plan, revokedAt } = existing(id!, await (await open()).revokeApiKey(id!, Date.now()));
  return { value: { id, plan, revokedAt: isoTime(revokedAt!) }, lines: [`${id} is revoked.`] };
}

async function rotate({ options, args: [id], open }: Call): Promise<Report> {
  const grace = parseDuration(options.grace ?? '24h');
  if (grace === null) throw new UsageError('--grace must be a duration such as 30m, 24h or 7d.');
  const store = await open();
  const { key, secret } = newSecret();
  const now = Date.now();
  const rotated = existing(id!, await store.rotateApiKey(id!, secret, now + grace));
  const others = rotated.secrets.filter(({ hash }) => hash !== secret.hash).filter(isAlive(now));
  const ends = others.map(
    ({ prefix, expiresAt }) => `The old secret ${prefix}… works until ${isoTime(expiresAt!)}.`,
  );
  if (ends.length === 0) ends.push('The old secret stops working within 5 seconds.');
  const { plan } = rotated;
  return { value: { id, key, plan }, lines: [`${id} (${plan})`, key, '', SHOWN_ONCE, ...ends] };
}

async function showUsage({
  options: { days: wanted = `${DEFAULT_DAYS}` },
  args: [id],
  open,
}: Call): Promise<Report> {
  const count = /^[1-9]\d?$/.test(wanted) ? Number(wanted) : 0;
  if (count < 1 || count > HISTORY_KEPT)
    throw new UsageError(`--days must be an integer from 1 to ${HISTORY_KEPT}.`);
  const store = await open();
  if (!(await store.apiKeyById(id!))) throw new UsageError(`There is no key ${id}.`);
  const now = Date.now();
  const stored = await store.usageDays(id!, formatDate(now - (count - 1) * DAY), formatDate(now));
  const days = stored
    .map(summarised)
    .map((day) => ({ date: day.date, ...sumOf(day.operations), operations: day.operations }));
  if (days.length === 0) return { value: days, lines: [`${id} was not used in the last ${count} days.`] };
  const cells = days.flatMap(({ date, operations, ...sum }) => [
    [date, 'all', '', ...countsOf(sum)],
    ...operations.map((use) => ['', use.operation, use.transport, ...countsOf(use)]),
  ]);
  const header = ['DATE', 'OPERATION', 'OVER', 'REQUESTS', 'UNITS', 'REFUSED'];
  return { value: days, lines: formatTable(header, cells) };
}

const countsOf = ({ requests, units, refused }: ReturnType<typeof sumOf>): string[] =>
  [requests, units, refused].map(String);

function existing(id: string, key: ApiKey | null): ApiKey {
  if (!key) throw new UsageError(`There is no active key ${id}.`);
  return key;
}

runTool({
  name: 'keys',
  commands: COMMANDS,
  help: `See COMMAND --help for details. Uses the store of MONGODB_URI or DATA_FILE, also while the server is running. A key is
shown only once, when it is created. Changes and revocations take effect within 5 seconds.`,
  open: openBesideServer,
});

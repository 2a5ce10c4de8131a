import type { Command } from 'commander';
import { bindingOf, newApiKey, newSecret } from '../access/api-keys.ts';
import { usedToday } from '../access/limiter.ts';
import { summarised, sumOf } from '../access/usage-history.ts';
import { formatDate, parseDuration } from '../foundation/instant.ts';
import type { ApiKey, ApiKeyChanges, ApiKeySecret } from '../store/api-keys.ts';
import type { Store } from '../store/store.ts';
import { DAY, HISTORY_KEPT } from '../store/usage.ts';
import { isoTime, type Options, type Report, refused, reports, UsageError, withStore } from './command.ts';
import { addKeyOptions, readKeyOptions } from './key-options.ts';
import { formatTable, wrap } from './table.ts';

/** Days of usage shown by default. */
const DEFAULT_DAYS = '30';

/** The commands below `petstore keys`. */
export function keyCommands(keys: Command): void {
  keys.addHelpText(
    'after',
    `
All of them work on the store of MONGODB_URI or DATA_FILE, also beside a running
server, and are in force within 5 seconds on every instance.`,
  );
  const create = keys.command('create').description('Create a key and print it. It is shown only once.');
  reports(addKeyOptions(create), (_, options) => createKey(options));

  const update = keys.command('update <id>').description('Change a key. What is not given stays as it is.');
  reports(addKeyOptions(update), ([id], options) => updateKey(id!, options));

  reports(
    keys.command('list').description('List all keys, what they may do and how much they used today.'),
    listKeys,
  );

  const usage = keys.command('usage <id>').description('Show what a key did, by day and operation.');
  usage.option('--days <n>', `the number of days, today included: 1 to ${HISTORY_KEPT}`, DEFAULT_DAYS);
  reports(usage, ([id], { days }) => showUsage(id!, days!));

  const webhooks = keys.command('webhooks <id>').description('List the webhooks of a key, or disable one.');
  webhooks.option('--disable <webhook>', 'the id of the webhook to disable');
  reports(webhooks, ([id], { disable }) => showWebhooks(id!, disable));

  reports(keys.command('revoke <id>').description('Revoke a key for good.'), ([id]) => revoke(id!));

  const rotate = keys.command('rotate <id>');
  rotate.description('Give a key a new secret and print it. Everything else about the key stays.');
  rotate.option('--grace <duration>', 'how long the old secret stays valid: 0, 90s, 30m, 24h, 7d', '24h');
  reports(rotate, ([id], { grace }) => rotateKey(id!, grace!));
}

async function createKey(options: Options): Promise<Report> {
  const now = Date.now();
  const properties = readKeyOptions({ name: '', plan: '', ...options }, now);
  // A new key has nothing to clear.
  const given = Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== null));
  const { key, apiKey } = newApiKey({ ...(given as Pick<ApiKey, 'name' | 'plan'>), now });
  const create = async (store: Store) => {
    await checkList(store, properties);
    await store.createApiKey(apiKey);
  };
  await withStore(create, { createsStore: true });
  const { id, plan } = apiKey;
  return { value: { id, key, plan }, lines: [`${id} (${plan})`, key, '', SHOWN_ONCE] };
}

async function updateKey(id: string, options: Options): Promise<Report> {
  const changes = readKeyOptions(options, Date.now());
  if (Object.keys(changes).length === 0)
    throw new UsageError('Nothing to change: name an option. Try: petstore keys update --help');
  const key = await withStore(async (store) => {
    await checkList(store, changes);
    return existing(id, await store.updateApiKey(id, changes));
  });
  const { name, plan, limits } = key;
  return {
    value: { id, name, plan, ...limits, ...restrictionsOf(key) },
    lines: [
      `${id} now is:`,
      `  name       ${name}`,
      `  plan       ${plan}, ${limits.perMinute} requests per minute, ${limits.perDay} per day`,
      `  scopes     ${key.scopes?.join(', ') ?? 'any'}`,
      `  expires    ${key.expiresAt === undefined ? 'never' : isoTime(key.expiresAt)}`,
      `  addresses  ${key.allow?.join(', ') ?? 'any'}`,
      `  documents  ${key.documents ?? 'any'}`,
    ],
  };
}

/** @throws UsageError if there is no such list of documents */
async function checkList(store: Store, { documents }: ApiKeyChanges): Promise<void> {
  if (documents == null) return;
  const { list } = bindingOf(documents);
  if ((await store.documents(list)).length === 0) throw refused(`There is no list ${list}.`);
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

async function listKeys(): Promise<Report> {
  const now = Date.now();
  const rows = await withStore(async (store) => {
    const keys = await store.apiKeys();
    const usage = await store.usage(keys.map(({ id }) => id));
    return keys.map((key, index) => rowOf(key, usedToday(usage[index] ?? null, now), now));
  });
  if (rows.length === 0) return { value: rows, lines: ['There are no keys.'] };
  const cells = rows.map(({ id, plan, usedToday, perDay, lastUsedAt, prefixes, name }) => [
    ...[id, plan, `${usedToday} of ${perDay}`, lastUsedAt?.slice(0, 10) ?? 'never'],
    ...[prefixes.at(-1)?.replace('petstore_', '').concat('…') ?? '', name],
  ]);
  const table = formatTable(['ID', 'PLAN', 'USED TODAY', 'LAST USED', 'SECRET', 'NAME'], cells);
  const details = rows.flatMap((row) => {
    const notes = notesOn(row).flatMap((note) => wrap(note, 76));
    return notes.length === 0 ? [] : ['', row.id, ...notes.map((line) => `  ${line}`)];
  });
  return { value: rows, lines: [...table, ...details] };
}

type KeyRow = ReturnType<typeof rowOf>;

/** A key as `list --json` shows it. */
function rowOf(key: ApiKey, usedToday: number, now: number) {
  const secrets = key.revokedAt === undefined ? key.secrets.filter(isAlive(now)) : [];
  return {
    ...{ id: key.id, name: key.name, plan: key.plan, ...key.limits, usedToday },
    ...(key.kind && { kind: key.kind }),
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
}

/** What does not fit into the table of keys, for the few that have it. */
function notesOn({ kind, revokedAt, expiresAt, scopes, allow, documents, secrets }: KeyRow): string[] {
  return [
    ...(revokedAt ? [`revoked ${revokedAt}`] : []),
    ...(kind ? ['for development, refused in production'] : []),
    ...(expiresAt ? [`expires ${expiresAt}`] : []),
    ...(scopes ? [`scopes ${scopes.join(', ')}`] : []),
    ...(allow ? [`from ${allow.join(', ')}`] : []),
    ...(documents ? [`documents ${documents}`] : []),
    ...secrets.flatMap((secret) =>
      secret.expiresAt ? [`secret ${secret.prefix}… until ${secret.expiresAt}`] : [],
    ),
  ];
}

async function revoke(id: string): Promise<Report> {
  const { plan, revokedAt } = await withStore(async (store) =>
    existing(id, await store.revokeApiKey(id, Date.now())),
  );
  return { value: { id, plan, revokedAt: isoTime(revokedAt!) }, lines: [`${id} is revoked.`] };
}

async function rotateKey(id: string, graceText: string): Promise<Report> {
  const grace = parseDuration(graceText);
  if (grace === null) throw new UsageError('--grace must be a duration such as 30m, 24h or 7d.');
  const { key, secret } = newSecret();
  const now = Date.now();
  const { plan, secrets } = await withStore(async (store) =>
    existing(id, await store.rotateApiKey(id, secret, now + grace)),
  );
  const ends = secrets
    .filter(({ hash }) => hash !== secret.hash)
    .filter(isAlive(now))
    .map(({ prefix, expiresAt }) => `The old secret ${prefix}… works until ${isoTime(expiresAt!)}.`);
  if (ends.length === 0) ends.push('The old secret stops working within 5 seconds.');
  return { value: { id, key, plan }, lines: [`${id} (${plan})`, key, '', SHOWN_ONCE, ...ends] };
}

async function showUsage(id: string, wanted: string): Promise<Report> {
  const count = /^[1-9]\d?$/.test(wanted) ? Number(wanted) : 0;
  if (count < 1 || count > HISTORY_KEPT)
    throw new UsageError(`--days must be an integer from 1 to ${HISTORY_KEPT}.`);
  const now = Date.now();
  const stored = await withStore(async (store) => {
    if (!(await store.apiKeyById(id))) throw refused(`There is no key ${id}.`);
    return store.usageDays(id, formatDate(now - (count - 1) * DAY), formatDate(now));
  });
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

async function showWebhooks(id: string, disable: string | undefined): Promise<Report> {
  const webhooks = await withStore(async (store) => {
    if (!(await store.apiKeyById(id))) throw refused(`There is no key ${id}.`);
    if (disable !== undefined)
      await store.webhookWrites.changeWebhook(id, disable, ({ settings }) => ({
        settings: { ...settings, enabled: false },
      }));
    return store.webhooksOfKey(id);
  });
  const rows = webhooks.map(({ id, createdAt, settings, progress }) => ({
    ...{ id, url: settings.url, enabled: settings.enabled, createdAt: isoTime(createdAt) },
    ...(settings.disabledReason && { disabledReason: settings.disabledReason }),
    ...(progress.failing && { failingSince: isoTime(progress.failing.since) }),
  }));
  if (rows.length === 0) return { value: rows, lines: [`${id} has no webhooks.`] };
  const cells = rows.map(({ id, url, createdAt, enabled, disabledReason, failingSince }) => [
    ...[id, url, createdAt.slice(0, 10)],
    enabled
      ? failingSince
        ? `failing since ${failingSince}`
        : 'enabled'
      : `disabled ${disabledReason ?? ''}`,
  ]);
  return { value: rows, lines: formatTable(['ID', 'URL', 'CREATED', 'STATE'], cells) };
}

function existing(id: string, key: ApiKey | null): ApiKey {
  if (!key) throw refused(`There is no active key ${id}.`);
  return key;
}

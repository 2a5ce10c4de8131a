import { type Command, Option } from 'commander';
import { bindingOf, newApiKey, generateKey } from '../access/api-keys.ts';
import { summarised } from '../access/usage-history.ts';
import { api } from '../api.ts';
import { formatDate, isoTime, DAY } from '../foundation/instant.ts';
import type { ApiKey, ApiKeyChanges } from '../store/stored-api-keys.ts';
import type { UsageState } from '../store/limiter-algorithm.ts';
import type { Store } from '../store/store.ts';
import { HISTORY_KEPT, sumOf } from '../store/stored-usage-history.ts';
import { durationFrom, GROUP_HELP, integerFrom, type Report, reportsOnStore } from './command.ts';
import { addKeyOptions, changesOf, type KeyOptions } from './key-options.ts';
import { formatTable, wrap } from './text-table.ts';

/** The commands below `petstore keys`. */
export function define(keys: Command): void {
  keys.addHelpText('after', GROUP_HELP);
  const create = keys.command('create').description('Create a key and print it. It is shown only once.');
  reportsOnStore(addKeyOptions(create, true), createKey, { createsStore: true });

  const update = keys
    .command('update <id>')
    .description('Change a key. Settings that are not given stay as they are.');
  reportsOnStore(addKeyOptions(update, false), updateKey);

  const list = keys.command('list');
  reportsOnStore(list.description('List all keys, with permissions and the usage of today.'), listKeys);

  const usage = keys.command('usage <id>').description('Show the usage of a key, by day and operation.');
  const days = `the number of days, today included: 1 to ${HISTORY_KEPT}`;
  reportsOnStore(usage.option('--days <n>', days, integerFrom(1, HISTORY_KEPT), 30), showUsage);

  for (const { name, description, option, run } of api.features.flatMap(
    ({ keyCommands = [] }) => keyCommands,
  )) {
    const command = keys
      .command(`${name} <id>`)
      .description(description)
      .option(...option);
    reportsOnStore(command, async (store, id: string, options: Readonly<Record<string, string>>) => {
      existing(id, await store.apiKeyById(id));
      const { rows, header, cells } = await run(store, id, options);
      const lines = rows.length === 0 ? [`${id} has no ${name}.`] : formatTable(header, cells);
      return { value: rows, lines };
    });
  }

  reportsOnStore(keys.command('revoke <id>').description('Revoke a key for good.'), revoke);

  const rotate = keys.command('rotate <id>');
  rotate.description('Give a key a new secret and print it. Everything else stays the same.');
  const grace = new Option('--grace <duration>', 'how long the old secret stays valid: 0, 90s, 30m, 24h, 7d');
  reportsOnStore(rotate.addOption(grace.default(DAY, '24h').argParser(durationFrom)), rotateKey);
}

async function createKey(store: Store, options: KeyOptions): Promise<Report> {
  const changes = changesOf(options);
  await checkList(store, changes);
  // A new key has nothing to clear.
  const settings = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null));
  const { key, apiKey } = newApiKey({ ...(settings as Pick<ApiKey, 'name' | 'plan'>), now: Date.now() });
  await store.createApiKey(apiKey);
  return shown(apiKey, key);
}

/** The report with a new key, which is shown only once. */
const shown = ({ id, plan }: ApiKey, key: string, ...lines: string[]): Report => ({
  value: { id, key, plan },
  lines: [`${id} (${plan})`, key, '', 'The key will not be shown again.', ...lines],
});

async function updateKey(store: Store, id: string, options: KeyOptions, command: Command): Promise<Report> {
  const changes = changesOf(options);
  if (Object.keys(changes).length === 0) command.error('Nothing to change: name an option.');
  await checkList(store, changes);
  if (changes.plan && (await store.apiKeyById(id))?.owner !== undefined)
    throw new Error(`${id} was made by another key and has no plan of its own.`);
  const rows = await rowsOf(store, [existing(id, await store.updateApiKey(id, changes))]);
  return { value: rows[0]!, lines: linesOf(rows) };
}

/** @throws Error if the list of documents doesn't exist */
async function checkList(store: Store, { documents }: ApiKeyChanges): Promise<void> {
  if (documents == null) return;
  const { list } = bindingOf(documents);
  if ((await store.documents(list)).length === 0) throw new Error(`There is no list ${list}.`);
}

async function listKeys(store: Store): Promise<Report> {
  const rows = await rowsOf(store, await store.apiKeys());
  return { value: rows, lines: rows.length === 0 ? ['There are no keys.'] : linesOf(rows) };
}

/** The units used in the open day window; 0 if none is open. */
export const usedToday = (usage: UsageState | null | undefined, now: number): number =>
  usage && now < usage.dayStart + DAY ? usage.dayUsed : 0;

type KeyRow = Awaited<ReturnType<typeof rowsOf>>[number];

/** Keys in the form of `--json`. */
async function rowsOf(store: Store, keys: readonly ApiKey[]) {
  const now = Date.now();
  const usage = await store.usage(keys.map(({ id }) => id));
  return keys.map(({ id, owner, name, plan, limits, kind, scopes, allow, documents, ...key }, n) => {
    const alive = key.revokedAt === undefined ? key.secrets : [];
    return {
      id,
      owner,
      name,
      plan,
      ...limits,
      usedToday: usedToday(usage[n], now),
      kind,
      secrets: alive
        .filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > now)
        .map(({ prefix, expiresAt }) => ({ prefix, expiresAt: isoTime(expiresAt) })),
      createdAt: isoTime(key.createdAt),
      lastUsedAt: isoTime(key.lastUsedAt),
      scopes,
      expiresAt: isoTime(key.expiresAt),
      allow,
      documents,
      revokedAt: isoTime(key.revokedAt),
    };
  });
}

/** Sorts each child below its owner. */
function treeOf(rows: readonly KeyRow[]): readonly KeyRow[] {
  const ids = new Set(rows.map(({ id }) => id));
  const isChild = ({ owner }: KeyRow) => owner !== undefined && ids.has(owner);
  return rows.flatMap((row) => (isChild(row) ? [] : [row, ...rows.filter(({ owner }) => owner === row.id)]));
}

/** A table of keys, followed by details that don't fit into it. */
function linesOf(rows: readonly KeyRow[]): string[] {
  const cells = treeOf(rows).map(({ id, owner, plan, usedToday, perDay, lastUsedAt, secrets, name }) => {
    const isChild = owner !== undefined;
    const own = isChild ? ['', ''] : [plan, `${usedToday} of ${perDay}`];
    const secret = secrets.at(-1)?.prefix.replace('petstore_', '').concat('…') ?? '';
    return [id, ...own, lastUsedAt?.slice(0, 10) ?? 'never', secret, isChild ? `└ ${name}` : name];
  });
  const table = formatTable(['ID', 'PLAN', 'USED TODAY', 'LAST USED', 'SECRET', 'NAME'], cells);
  const details = rows.flatMap((row) => {
    const notes = notesOn(row).flatMap((note) => wrap(note, 76));
    return notes.length === 0 ? [] : ['', row.id, ...notes.map((line) => `  ${line}`)];
  });
  return [...table, ...details];
}

function notesOn({ secrets, ...row }: KeyRow): string[] {
  const notes = [
    row.revokedAt && `revoked ${row.revokedAt}`,
    row.kind && 'for development, refused in production',
    row.plan === 'enterprise' && `${row.perMinute} requests per minute`,
    row.expiresAt && `expires ${row.expiresAt}`,
    row.scopes && `scopes ${row.scopes.join(', ')}`,
    row.allow && `from ${row.allow.join(', ')}`,
    row.documents && `documents ${row.documents}`,
    ...secrets.map(({ prefix, expiresAt }) => expiresAt && `secret ${prefix}… until ${expiresAt}`),
  ];
  return notes.filter((note) => typeof note === 'string');
}

async function revoke(store: Store, id: string): Promise<Report> {
  const { plan, revokedAt } = existing(id, await store.revokeApiKey(id, Date.now()));
  return { value: { id, plan, revokedAt: isoTime(revokedAt!) }, lines: [`${id} is revoked.`] };
}

async function rotateKey(store: Store, id: string, { grace }: { grace: number }): Promise<Report> {
  const { key, secret } = generateKey();
  const now = Date.now();
  const apiKey = existing(id, await store.rotateApiKey(id, secret, now + grace));
  const ends = apiKey.secrets
    .filter(({ expiresAt }) => expiresAt !== undefined && expiresAt > now)
    .map(({ prefix, expiresAt }) => `The old secret ${prefix}… works until ${isoTime(expiresAt!)}.`);
  if (ends.length === 0) ends.push('The old secret stops working within 5 seconds.');
  return shown(apiKey, key, ...ends);
}

async function showUsage(store: Store, id: string, { days: count }: { days: number }): Promise<Report> {
  const now = Date.now();
  existing(id, await store.apiKeyById(id));
  const stored = await store.usageDays(id, formatDate(now - (count - 1) * DAY), formatDate(now));
  const days = stored
    .map(summarised)
    .map(({ date, operations }) => ({ date, ...sumOf(operations), operations }));
  if (days.length === 0) return { value: days, lines: [`${id} was not used in the last ${count} days.`] };
  const cells = days.flatMap(({ date, requests, units, refused, operations }) => [
    [date, 'all', '', requests, units, refused],
    ...operations.map((use) => ['', use.operation, use.transport, use.requests, use.units, use.refused]),
  ]);
  const header = ['DATE', 'OPERATION', 'OVER', 'REQUESTS', 'UNITS', 'REFUSED'];
  return { value: days, lines: formatTable(header, cells) };
}

function existing(id: string, key: ApiKey | null): ApiKey {
  if (!key) throw new Error(`There is no active key ${id}.`);
  return key;
}

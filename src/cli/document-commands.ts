import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { Kind, parse, validate } from 'graphql';
import { parseDuration } from '../foundation/instant.ts';
import { hashOf } from '../operations/named-documents.ts';
import { schema } from '../schema.ts';
import type { Store } from '../store/store.ts';
import type { TrustedDocument } from '../store/trusted-documents.ts';
import {
  isoTime,
  type Options,
  type Report,
  refuse,
  refused,
  reports,
  UsageError,
  withStore,
} from './command.ts';
import { isListName } from './key-options.ts';
import { formatTable } from './table.ts';

/** The commands below `petstore documents`. */
export function documentCommands(documents: Command): void {
  documents.addHelpText(
    'after',
    `
All of them work on the store of MONGODB_URI or DATA_FILE, also beside a running
server, and are in force within 5 seconds on every instance.`,
  );
  const pushing = documents.command('push <name> <files...>');
  pushing.description(
    `Add the documents of manifests to a list, which keys can be bound to: keys update ID --documents NAME.
Reads manifests of @apollo/generate-persisted-query-manifest, and objects of ids and documents as Relay's compiler and the client preset of GraphQL Code Generator write them. Every document is checked first; if one does not fit the schema or has the id of another, nothing is stored.`,
  );
  reports(pushing, ([name, ...files]) => push(name!, files));

  const listing = documents.command('list [name]');
  reports(
    listing.description('List the documents of a list, or of all lists, with when they were last used.'),
    ([name]) => withStore((store) => list(store, name)),
  );

  const removing = documents.command('remove <name>').description('Remove documents from a list.');
  removing.option('--id <id>', 'the document with this id');
  removing.option('--unused <duration>', 'all that were not used for this long, nor added since: 12h, 90d');
  reports(removing, ([name], options) => remove(name!, options));

  const checking = documents.command('check [name]');
  checking.description('Check that documents still fit the schema. Exits with 1 if one does not.');
  reports(checking, ([name]) => withStore((store) => check(store, name, checking.opts().json)));
}

/** The names of the operations of a document, or why it does not fit the schema. */
function summaryOf(text: string): { operations: string } | { fault: string } {
  try {
    const document = parse(text);
    const faults = validate(schema, document);
    if (faults.length > 0) return { fault: faults.map(({ message }) => message).join(' ') };
    const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
    return { operations: operations.map(({ name, operation }) => name?.value ?? operation).join(', ') };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** @throws UsageError naming all documents that do not fit the schema */
function summaries(entries: readonly ManifestEntry[]): { id: string; operations: string }[] {
  const rows = entries.map(({ id, text }) => ({ id, ...summaryOf(text) }));
  const faults = rows.flatMap((row) => ('fault' in row ? [`${row.id}: ${row.fault}`] : []));
  if (faults.length > 0) throw refused(`Nothing was stored.\n${faults.join('\n')}`);
  return rows as { id: string; operations: string }[];
}

async function push(list: string, files: readonly string[]): Promise<Report> {
  if (!isListName(list))
    throw new UsageError(
      'NAME must have 1 to 100 letters, digits, dots, dashes and underscores, begin with a letter or digit, and not be any.',
    );
  let entries: ManifestEntry[];
  try {
    entries = files.flatMap(readManifest);
  } catch (error) {
    throw refused(`Nothing was stored. ${(error as Error).message}`);
  }
  return await withStore((store) => add(store, list, entries), { createsStore: true });
}

async function add(store: Store, list: string, entries: readonly ManifestEntry[]): Promise<Report> {
  const known = new Map((await store.documents(list)).map(({ id, text }) => [id, text]));
  const changed: string[] = [];
  const added = new Map<string, string>();
  for (const { id, text } of entries) {
    const before = known.get(id) ?? added.get(id);
    if (before !== undefined && before !== text) changed.push(id);
    else if (!known.has(id)) added.set(id, text);
  }
  if (changed.length > 0)
    throw refused(`Nothing was stored. These ids have another text: ${[...new Set(changed)].join(', ')}.`);
  const rows = summaries(entries).map((row) => ({ ...row, added: added.has(row.id) }));
  const now = Date.now();
  const documents = [...added].map(([id, text]) => ({ list, id, text, hash: hashOf(text), addedAt: now }));
  await store.addDocuments(documents);
  const cells = rows.map(({ id, operations, added }) => [id, operations, added ? 'added' : 'known']);
  const sum = `${list}: ${added.size} added, ${rows.length - added.size} already there.`;
  return {
    value: { list, documents: rows },
    lines: [...formatTable(['ID', 'OPERATION', ''], cells), '', sum],
  };
}

async function documentsOf(store: Store, list: string | undefined): Promise<TrustedDocument[]> {
  const documents = await store.documents(list);
  if (list !== undefined && documents.length === 0) throw refused(`There is no list ${list}.`);
  return documents;
}

async function list(store: Store, name: string | undefined): Promise<Report> {
  const rows = (await documentsOf(store, name)).map(({ list, id, text, addedAt, lastUsedAt }) => ({
    ...{ list, id, ...summaryOf(text), addedAt: isoTime(addedAt) },
    ...(lastUsedAt !== undefined && { lastUsedAt: isoTime(lastUsedAt) }),
  }));
  if (rows.length === 0) return { value: rows, lines: ['There are no documents.'] };
  const cells = rows.map(({ list, id, lastUsedAt, ...row }) => [
    ...[list, id, 'fault' in row ? 'does not fit the schema' : row.operations],
    lastUsedAt?.slice(0, 10) ?? 'never',
  ]);
  return { value: rows, lines: formatTable(['LIST', 'ID', 'OPERATION', 'LAST USED'], cells) };
}

async function remove(list: string, { id, unused }: Options): Promise<Report> {
  const faults: string[] = [];
  if ((id === undefined) === (unused === undefined)) faults.push('remove needs either --id or --unused.');
  const duration = parseDuration(unused ?? '0');
  if (duration === null) faults.push('--unused must be a duration such as 90d or 12h.');
  refuse(faults);
  return await withStore(async (store) => {
    const documents = await documentsOf(store, list);
    const before = Date.now() - duration!;
    const removed =
      id === undefined
        ? documents.filter(({ addedAt, lastUsedAt = addedAt }) => Math.max(addedAt, lastUsedAt) < before)
        : documents.filter((document) => document.id === id);
    if (id !== undefined && removed.length === 0) throw refused(`The list ${list} has no document ${id}.`);
    const ids = removed.map((document) => document.id);
    await store.removeDocuments(list, ids);
    return {
      value: { list, removed: ids },
      lines: [...ids, `${ids.length} of ${documents.length} removed.`],
    };
  });
}

async function check(store: Store, name: string | undefined, json: boolean): Promise<Report> {
  const documents = await documentsOf(store, name);
  const faults = documents.flatMap(({ list, id, text }) => {
    const summary = summaryOf(text);
    return 'fault' in summary ? [{ list, id, fault: summary.fault }] : [];
  });
  const result = { documents: documents.length, faults };
  if (faults.length > 0) {
    const lines = faults.map(({ list, id, fault }) => `${list} ${id}: ${fault}`).join('\n');
    throw refused(json ? JSON.stringify(result) : lines);
  }
  return { value: result, lines: [`Every document fits the schema: ${documents.length}.`] };
}

/** A document with the id that its manifest gives it. */
interface ManifestEntry {
  id: string;
  text: string;
}

const ID = /^[\x21-\x7e]{1,128}$/;
const FORMS =
  'It must be JSON: a manifest of @apollo/generate-persisted-query-manifest, or an object of ids and documents as Relay and the client preset of GraphQL Code Generator write it.';

/**
 * Reads the documents of a manifest.
 *
 * @throws Error naming the file and what is wrong with it
 */
function readManifest(file: string): ManifestEntry[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}. ${FORMS}`);
  }
  if (!isObject(content)) throw new Error(`${file} is no manifest. ${FORMS}`);
  const entries =
    content.format === 'apollo-persisted-query-manifest' && Array.isArray(content.operations)
      ? content.operations.map((operation) => (isObject(operation) ? [operation.id, operation.body] : []))
      : Object.entries(content);
  const faults: string[] = [];
  for (const [id, text] of entries) {
    if (typeof id !== 'string' || !ID.test(id))
      faults.push(`the id ${JSON.stringify(id)} must have 1 to 128 visible ASCII characters`);
    else if (typeof text !== 'string') faults.push(`the document of ${id} is no text`);
  }
  if (entries.length === 0) faults.push('it has no documents');
  if (faults.length > 0) throw new Error(`${file}: ${faults.join('; ')}. ${FORMS}`);
  return entries.map(([id, text]) => ({ id: id as string, text: text as string }));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

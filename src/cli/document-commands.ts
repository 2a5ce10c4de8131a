import { readFileSync } from 'node:fs';
import { Argument, type Command, Option } from 'commander';
import { Kind, parse, validate } from 'graphql';
import { hashOf } from '../graphql/named-documents.ts';
import { api } from '../api.ts';
import type { Store } from '../store/store.ts';
import type { TrustedDocument } from '../store/trusted-documents.ts';
import { fileFault } from '../foundation/errors.ts';
import { isoTime } from '../foundation/instant.ts';
import { durationFrom, GROUP_HELP, parsing, type Report, reportsOnStore } from './command.ts';
import { isListName } from '../access/api-keys.ts';
import { formatTable } from './text-table.ts';

/** The commands below `petstore documents`. */
export function define(documents: Command): void {
  documents.addHelpText('after', GROUP_HELP);
  const pushing = documents.command('push');
  pushing.description(
    `Add the documents of manifests to a list, which keys can be bound to: keys update ID --documents NAME.
Reads manifests of @apollo/generate-persisted-query-manifest, and objects of ids and documents as Relay's compiler and the client preset of GraphQL Code Generator write them. Every document is checked first; if one does not fit the schema or has the id of another, nothing is stored.`,
  );
  const listName = parsing(
    (text) => (isListName(text) ? text : null),
    'It must have 1 to 100 letters, digits, dots, dashes and underscores, begin with a letter or digit, and not be any.',
  );
  pushing
    .addArgument(new Argument('<name>').argParser(listName))
    .addArgument(new Argument('<files...>').argParser(readManifest));
  reportsOnStore(pushing, push, { createsStore: true });

  const listing = documents.command('list [name]');
  listing.description('List the documents of a list, or of all lists, with the date of their last use.');
  reportsOnStore(listing, list);

  const removing = documents.command('remove <name>').description('Remove documents from a list.');
  const unused = 'all that were neither used nor added for this long: 12h, 90d';
  removing
    .addOption(new Option('--id <id>', 'the document with this id').conflicts('unused'))
    .option('--unused <duration>', unused, durationFrom);
  reportsOnStore(removing, remove);

  const checking = documents.command('check [name]');
  checking.description('Check that documents still fit the schema. Exits with 1 if one does not.');
  reportsOnStore(checking, check);
}

/** The names of a document's operations, or the reason why it doesn't fit the schema. */
function summaryOf(text: string): { operations?: string; fault?: string } {
  try {
    const document = parse(text);
    const faults = validate(api.schema, document);
    if (faults.length > 0) return { fault: faults.map(({ message }) => message).join(' ') };
    const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
    return { operations: operations.map(({ name, operation }) => name?.value ?? operation).join(', ') };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** A document of a manifest. */
interface ManifestDocument {
  id: string;
  text: string;
  operations?: string | undefined;
}

async function push(store: Store, list: string, documents: readonly ManifestDocument[]): Promise<Report> {
  const texts = new Map((await store.documents(list)).map(({ id, text }) => [id, text]));
  const rows = documents.map(({ id, text, operations }) => {
    const added = !texts.has(id);
    if (added) texts.set(id, text);
    return { id, text, operations, added };
  });
  const changed = rows.filter(({ id, text }) => texts.get(id) !== text).map(({ id }) => id);
  if (changed.length > 0)
    throw new Error(`Nothing was stored. These ids have another text: ${changed.join(', ')}.`);
  const addedAt = Date.now();
  const added = rows
    .filter((row) => row.added)
    .map(({ id, text }) => ({ list, id, text, hash: hashOf(text), addedAt }));
  await store.addDocuments(added);
  const cells = rows.map(({ id, operations = '', added }) => [id, operations, added ? 'added' : 'known']);
  const sum = `${list}: ${added.length} added, ${rows.length - added.length} already there.`;
  return {
    value: { list, documents: rows.map(({ id, operations, added }) => ({ id, operations, added })) },
    lines: [...formatTable(['ID', 'OPERATION', ''], cells), '', sum],
  };
}

async function documentsOf(store: Store, list: string | undefined): Promise<TrustedDocument[]> {
  const documents = await store.documents(list);
  if (list !== undefined && documents.length === 0) throw new Error(`There is no list ${list}.`);
  return documents;
}

async function list(store: Store, name: string | undefined): Promise<Report> {
  const rows = (await documentsOf(store, name)).map(({ list, id, text, addedAt, lastUsedAt }) => ({
    list,
    id,
    ...summaryOf(text),
    addedAt: isoTime(addedAt),
    lastUsedAt: isoTime(lastUsedAt),
  }));
  if (rows.length === 0) return { value: rows, lines: ['There are no documents.'] };
  const cells = rows.map(({ list, id, operations = 'does not fit the schema', lastUsedAt = 'never' }) => [
    list,
    id,
    operations,
    lastUsedAt.slice(0, 10),
  ]);
  return { value: rows, lines: formatTable(['LIST', 'ID', 'OPERATION', 'LAST USED'], cells) };
}

async function remove(
  store: Store,
  list: string,
  { id, unused }: { id?: string; unused?: number },
  command: Command,
): Promise<Report> {
  if (id === undefined && unused === undefined) command.error('remove needs either --id or --unused.');
  const documents = await documentsOf(store, list);
  const before = Date.now() - (unused ?? 0);
  const isRemoved = ({ id: own, addedAt, lastUsedAt = addedAt }: TrustedDocument) =>
    id === undefined ? Math.max(addedAt, lastUsedAt) < before : own === id;
  const removed = documents.filter(isRemoved).map(({ id }) => id);
  if (id !== undefined && removed.length === 0) throw new Error(`The list ${list} has no document ${id}.`);
  await store.removeDocuments(list, removed);
  return {
    value: { list, removed },
    lines: [...removed, `${removed.length} of ${documents.length} removed.`],
  };
}

async function check(store: Store, name: string | undefined): Promise<Report> {
  const documents = await documentsOf(store, name);
  const faults = documents.flatMap(({ list, id, text }) => {
    const { fault } = summaryOf(text);
    return fault === undefined ? [] : [{ list, id, fault }];
  });
  const value = { documents: documents.length, faults };
  if (faults.length === 0) return { value, lines: [`Every document fits the schema: ${documents.length}.`] };
  process.exitCode = 1;
  return { value, lines: faults.map(({ list, id, fault }) => `${list} ${id}: ${fault}`) };
}

/**
 * Reads and checks the documents of a manifest, before any store is opened.
 *
 * @param before documents of earlier manifests
 * @throws Error with the faults of the file or its documents
 */
function readManifest(file: string, before: readonly ManifestDocument[] = []): ManifestDocument[] {
  let entries: [id: unknown, text: string][];
  let manifest: string;
  try {
    // Windows editors and shells start texts with a byte order mark.
    manifest = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new Error(`Nothing was stored. ${file} cannot be read: ${fileFault(error)}`);
  }
  try {
    const content = JSON.parse(manifest);
    entries =
      content.format === 'apollo-persisted-query-manifest'
        ? content.operations.map(({ id, body }: Record<string, unknown>) => [id, body])
        : Object.entries(content);
    if (entries.length === 0) throw new Error('it has no documents');
  } catch (error) {
    throw new Error(
      `Nothing was stored. ${file}: ${(error as Error).message}. It must be JSON: a manifest of @apollo/generate-persisted-query-manifest, or an object of ids and documents as Relay and the client preset of GraphQL Code Generator write it.`,
    );
  }
  const documents = entries.map(([id, text]) => ({ id: String(id), text, ...summaryOf(text) }));
  const faults = documents.flatMap(({ id, fault }, n) => {
    const isId = typeof entries[n]![0] === 'string' && /^[\x21-\x7e]{1,128}$/.test(id);
    const message = isId ? fault : 'the id must have 1 to 128 visible ASCII characters';
    return message === undefined ? [] : [`${id}: ${message}`];
  });
  if (faults.length > 0) throw new Error(`Nothing was stored.\n${faults.join('\n')}`);
  return [...before, ...documents];
}

import { setTimeout as sleep } from 'node:timers/promises';
import { parseDuration } from '../foundation/duration.ts';
import { DocumentPrices, type DocumentSummary } from '../operations/document-price.ts';
import { hashOf } from '../operations/persisted-queries.ts';
import { schema } from '../schema.ts';
import type { Store, TrustedDocument } from '../store/store.ts';
import { isListName } from './key-options.ts';
import { type ManifestEntry, readManifest } from './manifest.ts';
import { formatTable } from './table.ts';
import {
  type Call,
  type Command,
  isoTime,
  openBesideServer,
  type Report,
  refuse,
  runTool,
  UsageError,
} from './tool.ts';

/** Documents stored together, and milliseconds between them: a server's writes wait meanwhile. */
const [STEP, PAUSE] = [20, 5];

/** A command that is well-formed but cannot be carried out. */
const refused = (message: string) => new UsageError(message, 1);

const COMMANDS: Record<string, Command> = {
  push: {
    usage: 'NAME FILE… [--json]',
    help: `Adds the documents of manifests to a list, which keys can be bound to: keys update ID --documents NAME.
Reads manifests of @apollo/generate-persisted-query-manifest, and objects of ids and documents as Relay's compiler
and the client preset of GraphQL Code Generator write them. Ids are kept. Every document is checked and priced first;
if one does not fit the schema, costs more than 50 units or has the id of another, nothing is stored.`,
    createsStore: true,
    run: push,
  },
  list: {
    usage: '[NAME] [--json]',
    help: 'Lists the documents of a list, or of all lists, with their price and when they were last used.',
    run: list,
  },
  remove: {
    usage: 'NAME (--id ID | --unused 90d) [--json]',
    help: `Removes documents from a list, within 5 seconds on every instance.

  --id      the document with this id
  --unused  all that were not used for this long, nor added since: 90s, 30m, 12h, 90d`,
    run: remove,
  },
  check: {
    usage: '[NAME] [--json]',
    help: 'Checks that the documents of a list, or of all lists, still fit the schema. Exits with 1 if one does not.',
    run: check,
  },
};

/** @throws UsageError naming all documents that cannot run */
function priced(entries: readonly ManifestEntry[]): Map<string, DocumentSummary> {
  const prices = new DocumentPrices(schema);
  const summaries = new Map<string, DocumentSummary>();
  const faults: string[] = [];
  for (const { id, text } of entries) {
    const summary = prices.summarize(text);
    if ('fault' in summary) faults.push(`${id}: ${summary.fault}`);
    else summaries.set(id, summary);
  }
  if (faults.length > 0) throw refused(`Nothing was stored.\n${faults.join('\n')}`);
  return summaries;
}

async function push({ args: [name, ...files], open }: Call): Promise<Report> {
  const list = name!;
  if (!isListName(list))
    throw new UsageError(
      'NAME must have 1 to 100 letters, digits, dots, dashes and underscores, begin with a letter or digit, and not be any.',
    );
  const store = await open();
  let entries: ManifestEntry[];
  try {
    entries = files.flatMap(readManifest);
  } catch (error) {
    throw refused(`Nothing was stored. ${(error as Error).message}`);
  }
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
  const summaries = priced(entries);
  const now = Date.now();
  const documents = [...added].map(([id, text]) => ({ list, id, text, hash: hashOf(text), addedAt: now }));
  for (let from = 0; from < documents.length; from += STEP) {
    if (from > 0) await sleep(PAUSE);
    await store.addDocuments(documents.slice(from, from + STEP));
  }
  const rows = [...summaries].map(([id, summary]) => ({ id, ...summary, added: added.has(id) }));
  const cells = rows.map(({ id, operations, price }) => [id, operations, String(price)]);
  const sum = `${list}: ${added.size} added, ${rows.length - added.size} already there.`;
  return {
    value: { list, documents: rows },
    lines: [...formatTable(['ID', 'OPERATION', 'PRICE'], cells), '', sum],
  };
}

async function documentsOf(store: Store, list: string | undefined): Promise<TrustedDocument[]> {
  const documents = await store.documents(list);
  if (list !== undefined && documents.length === 0) throw refused(`There is no list ${list}.`);
  return documents;
}

async function list({ args: [list], open }: Call): Promise<Report> {
  const prices = new DocumentPrices(schema);
  const rows = (await documentsOf(await open(), list)).map(({ list, id, text, addedAt, lastUsedAt }) => {
    const summary = prices.summarize(text);
    return {
      ...{ list, id },
      ...('fault' in summary ? { fault: summary.fault } : summary),
      addedAt: isoTime(addedAt),
      ...(lastUsedAt !== undefined && { lastUsedAt: isoTime(lastUsedAt) }),
    };
  });
  if (rows.length === 0) return { value: rows, lines: ['There are no documents.'] };
  const cells = rows.map(({ list, id, lastUsedAt = '', ...row }) =>
    'fault' in row
      ? [list, id, '', 'does not fit the schema', lastUsedAt]
      : [list, id, row.operations, String(row.price), lastUsedAt],
  );
  return { value: rows, lines: formatTable(['LIST', 'ID', 'OPERATION', 'PRICE', 'LAST USED'], cells) };
}

async function remove({ options: { id, unused }, args: [list], open }: Call): Promise<Report> {
  const faults: string[] = [];
  if ((id === undefined) === (unused === undefined)) faults.push('remove needs either --id or --unused.');
  const duration = parseDuration(unused ?? '0');
  if (duration === null) faults.push('--unused must be a duration such as 90d or 12h.');
  refuse(faults);
  const store = await open();
  const documents = await documentsOf(store, list);
  const before = Date.now() - duration!;
  const removed =
    id === undefined
      ? documents.filter(({ addedAt, lastUsedAt = addedAt }) => Math.max(addedAt, lastUsedAt) < before)
      : documents.filter((document) => document.id === id);
  if (id !== undefined && removed.length === 0) throw refused(`The list ${list} has no document ${id}.`);
  const ids = removed.map((document) => document.id);
  await store.removeDocuments(list!, ids);
  return { value: { list, removed: ids }, lines: [...ids, `${ids.length} of ${documents.length} removed.`] };
}

async function check({ options: { json }, args: [list], open }: Call): Promise<Report> {
  const prices = new DocumentPrices(schema);
  const documents = await documentsOf(await open(), list);
  const faults = documents.flatMap(({ list, id, text }) => {
    const summary = prices.summarize(text);
    return 'fault' in summary ? [{ list, id, fault: summary.fault }] : [];
  });
  const result = { documents: documents.length, faults };
  if (faults.length > 0) {
    throw refused(
      json
        ? JSON.stringify(result)
        : faults.map(({ list, id, fault }) => `${list} ${id}: ${fault}`).join('\n'),
    );
  }
  return { value: result, lines: [`All ${documents.length} documents fit the schema.`] };
}

runTool({
  name: 'documents',
  commands: COMMANDS,
  help: `See COMMAND --help for details. Uses the store of MONGODB_URI or DATA_FILE, also while the server is running. Changes
take effect within 5 seconds.`,
  open: openBesideServer,
});

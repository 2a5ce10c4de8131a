import { isUtf8 } from 'node:buffer';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Api } from '../domains/create-api.ts';
import { explained, isUnavailable } from '../foundation/errors.ts';
import { type Id, parseId } from '../foundation/id.ts';
import { newRules } from '../foundation/record-input.ts';
import { type AnyDeclaration, blocksDeletion, referencesOf, renamed } from '../foundation/record.ts';
import { graphqlDialect, issuesOf } from '../foundation/validation.ts';
import { listed } from '../foundation/words.ts';
import { type DumpTarget, type ExportPart, exportPart, type KeyUsage } from '../store/dump.ts';
import type { LastIds, StoredRow } from '../store/engine.ts';
import type { Store } from '../store/store.ts';
import { USAGE_HISTORY, type UsageCount } from '../store/stored-usage-history.ts';
import { linesOf } from './load-source.ts';

/**
 * An export is a directory with a file of JSON lines for each part of a store, and `manifest.json`, which is written
 * last and has the number of lines of each. An int64 is a string of digits, so that nothing is rounded.
 */
const FORMAT = 'petstore-export';
const VERSION = 1;
const MANIFEST = 'manifest.json';
/** The number of rows that are read and written together. */
const BATCH_SIZE = 1_000;

/** Called with the number of rows of a part that are read or written so far. */
export type OnProgress = (part: string, rows: number) => void;

/** The part for a kind of record. Its rows are the records themselves. */
const recordPart = (declaration: AnyDeclaration) =>
  exportPart<StoredRow>({
    name: declaration.plural,
    // Exports may be older than the declaration.
    rule: z
      .unknown()
      .transform((row) => (typeof row === 'object' && row !== null ? renamed(declaration, row) : row))
      .pipe(newRules({ id: declaration.id, ...declaration.fields }, graphqlDialect, false)),
    async *read(store) {
      for (let after: string | undefined; ;) {
        const { items } = await store.table(declaration).page({}, { limit: BATCH_SIZE, after });
        if (items.length === 0) return;
        yield items as unknown as readonly StoredRow[];
        after = items.at(-1)!.id as string;
      }
    },
    async add(target, rows) {
      await checkParents(target, declaration, rows);
      try {
        await target.addRecords(declaration, rows);
      } catch (error) {
        const [twice] = (await target.store.table(declaration).byIds(rows.map(({ id }) => id))).filter(
          Boolean,
        );
        throw twice ? new Error(`id: ${twice.id} is on an earlier line too.`) : error;
      }
    },
  });

/** @throws Error if a record that would block the deletion of its parent refers to a missing one */
async function checkParents(
  target: DumpTarget,
  declaration: AnyDeclaration,
  rows: readonly StoredRow[],
): Promise<void> {
  for (const reference of referencesOf(declaration)) {
    const { field, parent } = reference;
    // A parent of the same kind may come later.
    if (parent === declaration) continue;
    const held = rows.filter((row) => row[field] !== undefined && blocksDeletion(reference, row));
    const ids = [...new Set(held.map((row) => row[field] as Id))];
    const parents = await target.store.table(parent).byIds(ids);
    const missing = ids.find((_, n) => !parents[n]);
    if (missing !== undefined) throw new Error(`${field}: there is no ${parent.kind} ${missing}.`);
  }
}

/** The API whose store is exported or imported. */
export type Exported = Pick<Api, 'records' | 'features'>;

const partsOf = ({ records, features }: Exported): readonly ExportPart[] => [
  ...records.map(recordPart),
  exportPart<KeyUsage>({
    name: 'usage',
    contents: 'usage',
    async *read(store) {
      const ids = (await store.apiKeys()).map(({ id }) => id);
      const states = await store.usage(ids);
      yield ids.flatMap((apiKeyId, n) => (states[n] ? [{ apiKeyId, ...states[n] }] : []));
    },
    add: (target, rows) => target.addUsage(rows),
  }),
  // One row per operation of a day.
  exportPart<UsageCount>({
    name: 'usageHistory',
    async *read(store) {
      yield (await store.objects(USAGE_HISTORY).all()).flatMap(({ operations, ...day }) =>
        operations.map((operation) => ({ ...day, ...operation })),
      );
    },
    add: ({ store }, rows) => store.addUsage(rows, {}),
  }),
  ...features.flatMap((feature) => feature.exports ?? []),
];

/** The contents of an export besides records, for people. */
export const contentsOf = (api: Exported): string =>
  listed(
    partsOf(api).flatMap(({ contents }) => contents ?? []),
    'and',
  );

const LAST_ID = z.string().refine((id) => id === '0' || parseId(id) !== null, 'must be an id or 0');

/** A part with the last ids in exports of earlier builds, whose rows have checksums, which are ignored. */
const LAST_IDS = exportPart<{ records: string; last: Id }>({
  name: 'counters',
  rule: z.object({ records: z.string(), last: LAST_ID }),
  read: () => [],
  add: (target, rows) =>
    target.setLastIds(Object.fromEntries(rows.map(({ records, last }) => [records, last]))),
});
const manifestRule = (api: Exported) =>
  z.object({
    format: z.literal(FORMAT),
    version: z.literal(VERSION),
    createdAt: z.string(),
    engine: z.string(),
    lastIds: z.record(z.string(), LAST_ID).optional(),
    parts: z.array(
      z.object({ name: z.enum([LAST_IDS, ...partsOf(api)].map(({ name }) => name)), rows: z.int().min(0) }),
    ),
  });

export type Manifest = z.infer<ReturnType<typeof manifestRule>>;

const fileOf = (name: string): string => `${name}.jsonl`;
/** The options for writing each file: for its owner only, and flushed to disk. */
const PRIVATE = { mode: 0o600, flush: true };

/**
 * Exports a store to files.
 *
 * @param directory must be empty; created if it does not exist
 * @throws Error if the directory is not empty
 */
export async function writeExport(
  directory: string,
  store: Store,
  api: Exported,
  onProgress: OnProgress,
): Promise<Manifest> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const [file] = await readdir(directory);
  if (file !== undefined) throw new Error(`${directory} is not empty: ${file}. Name a new directory.`);
  const parts: Manifest['parts'] = [];
  // From last to first, so that writes made meanwhile can't add a child without its parent.
  for (const { name, read } of partsOf(api).toReversed()) {
    let rows = 0;
    async function* lines() {
      for await (const batch of read(store)) {
        rows += batch.length;
        yield batch.map((row) => `${JSON.stringify(row)}\n`).join('');
        onProgress(name, rows);
      }
    }
    await writeFile(join(directory, fileOf(name)), lines(), PRIVATE);
    parts.unshift({ name, rows });
  }
  const manifest: Manifest = {
    format: FORMAT,
    version: VERSION,
    createdAt: new Date().toISOString(),
    engine: store.engine,
    lastIds: { ...(await store.lastIds()) },
    parts,
  };
  await writeFile(join(directory, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, PRIVATE);
  return manifest;
}

/**
 * Fills a store from the files of an export. Faults in them are found before the store is served.
 *
 * @throws Error with the file and line of a fault
 */
export async function readExport(
  directory: string,
  manifest: Manifest,
  target: DumpTarget,
  api: Exported,
  onProgress: OnProgress,
): Promise<void> {
  if (manifest.lastIds) await target.setLastIds(manifest.lastIds as LastIds);
  const parts = [LAST_IDS, ...partsOf(api)];
  for (const { name, rows } of manifest.parts) {
    const { rule, add } = parts.find((part) => part.name === name)!;
    const file = fileOf(name);
    const addAll = async (batch: readonly unknown[], end: number): Promise<void> => {
      try {
        await add(target, batch);
      } catch (error) {
        const begin = end - batch.length + 1;
        // Finds the faulty row by adding them one by one.
        if (begin < end && !isUnavailable(error))
          for (const [n, row] of batch.entries()) await addAll([row], begin + n);
        const lines = begin < end ? `lines ${begin} to ${end}` : `line ${end}`;
        throw new Error(`${file}, ${lines}: ${explained(error)}`, { cause: error });
      }
    };
    let line = 0;
    let batch: unknown[] = [];
    for await (const bytes of rowsOf(join(directory, file))) {
      const where = `${file}, line ${++line}`;
      if (line > rows) throw new Error(`${where}: the manifest counts ${rows} lines.`);
      batch.push(parsed(bytes, where, rule, manifest.lastIds === undefined));
      if (line < rows && batch.length < BATCH_SIZE) continue;
      await addAll(batch, line);
      batch = [];
      onProgress(name, line);
    }
    if (line < rows)
      throw new Error(
        `${file}, line ${line + 1}: the file ends here, but the manifest counts ${rows} lines.`,
      );
  }
  await target.finish();
}

/** @throws Error if the directory isn't a complete export, or contains other files */
export async function readManifest(directory: string, api: Exported): Promise<Manifest> {
  const file = join(directory, MANIFEST);
  if (!existsSync(file))
    throw new Error(`${directory} has no ${MANIFEST}: it is not an export, or not a complete one.`);
  const manifest = parsed(await readFile(file), MANIFEST, manifestRule(api)) as Manifest;
  const expected = [MANIFEST, ...manifest.parts.map(({ name }) => fileOf(name))];
  const files = await readdir(directory);
  const missing = expected.find((name) => !files.includes(name));
  if (missing !== undefined) throw new Error(`${missing} is missing: the export is incomplete.`);
  const foreign = files.find((name) => !expected.includes(name));
  if (foreign !== undefined) throw new Error(`${foreign} does not belong to this export.`);
  return manifest;
}

/** The lines of a file, without an empty last one. */
async function* rowsOf(file: string): AsyncGenerator<Buffer> {
  let last: Buffer | undefined;
  for await (const lines of linesOf(createReadStream(file)))
    for (const line of lines) {
      if (last) yield last;
      last = line;
    }
  if (last && last.length > 0) yield last;
}

/**
 * @param where the file, and the line if it has several
 * @param hasChecksum true if the value has a checksum, to be ignored
 */
function parsed(
  bytes: Buffer,
  where: string,
  rule: z.ZodType = z.looseObject({}),
  hasChecksum = false,
): unknown {
  if (!isUtf8(bytes)) throw new Error(`${where}: not in UTF-8.`);
  let value: { crc32?: string } | null;
  try {
    value = JSON.parse(bytes.toString());
    if (hasChecksum) delete value?.crc32;
  } catch {
    throw new Error(`${where}: not valid JSON.`);
  }
  const { data, error } = rule.safeParse(value);
  if (!error) return data;
  const faults = issuesOf(error.issues).map(({ path, message }) => `${path}: ${message}`);
  throw new Error(`${where}: ${faults.join('; ')}.`);
}

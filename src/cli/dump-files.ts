import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { issuesOf } from '../foundation/validation.ts';
import { BATCH_SIZE, type Dump, type DumpPart, type DumpRow, type ImportProgress } from '../store/dump.ts';

/**
 * An export is a directory with a file of JSON lines for each part of a store and `manifest.json`, which is
 * written last and names the files with their sizes and digests. Every line ends with a checksum of its own, so
 * that damage is reported with its line.
 */
const FORMAT = 'petstore-export';
const VERSION = 1;
const MANIFEST = 'manifest.json';
/** Longer than any row. */
const MAX_LINE_LENGTH = 1_048_576;

const MANIFEST_RULE = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  createdAt: z.iso.datetime(),
  engine: z.string(),
  parts: z.array(
    z.strictObject({
      name: z.string().regex(/^[a-zA-Z]+$/),
      rows: z.int().min(0),
      bytes: z.int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});

export type Manifest = z.infer<typeof MANIFEST_RULE>;
type PartManifest = Manifest['parts'][number];

/** A fault of an export, with the file and, where there is one, the line. */
export class DamagedExport extends Error {}

/** Called with the number of rows read or written so far. @param what `pets`, `checking pets` */
export type OnProgress = (what: string, rows: number) => void;

const fileOf = (name: string): string => `${name}.jsonl`;

const withChecksum = (row: DumpRow): string => {
  const json = JSON.stringify(row);
  return `${json.slice(0, -1)},"crc32":"${checksumOf(json)}"}\n`;
};

const checksumOf = (json: string): string => crc32(json).toString(16).padStart(8, '0');

const CHECKSUM = /^(\{.*),"crc32":"([0-9a-f]{8})"\}$/s;

/**
 * Writes everything that a store holds to files.
 *
 * @param directory created if it does not exist; must be empty
 * @throws Error if there is anything in the directory
 */
export async function writeExport(directory: string, dump: Dump, onProgress: OnProgress): Promise<Manifest> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const [file] = await readdir(directory);
  if (file !== undefined) throw new Error(`${directory} is not empty: ${file}. Name a new directory.`);
  const parts: PartManifest[] = [];
  // From the last to the first: whoever writes meanwhile adds no id above its counter and no child without its parent.
  for (const part of dump.parts.toReversed()) parts.unshift(await writePart(directory, part, onProgress));
  const manifest: Manifest = {
    format: FORMAT,
    version: VERSION,
    createdAt: new Date().toISOString(),
    engine: dump.engine,
    parts,
  };
  // Whoever finds a manifest finds it whole.
  const unfinished = join(directory, `${MANIFEST}.part`);
  await writeDurably(unfinished, [`${JSON.stringify(manifest, null, 2)}\n`]);
  await rename(unfinished, join(directory, MANIFEST));
  return manifest;
}

async function writePart(directory: string, part: DumpPart, onProgress: OnProgress): Promise<PartManifest> {
  const { name } = part;
  const digest = createHash('sha256');
  let [rows, bytes] = [0, 0];
  async function* chunks() {
    for await (const batch of part.batches()) {
      const text = batch.map(withChecksum).join('');
      rows += batch.length;
      bytes += Buffer.byteLength(text);
      digest.update(text);
      yield text;
      onProgress(name, rows);
    }
  }
  await writeDurably(join(directory, fileOf(name)), chunks());
  return { name, rows, bytes, sha256: digest.digest('hex') };
}

/** Writes a new file for its owner alone, and returns once it is on the disk. */
async function writeDurably(file: string, chunks: AsyncIterable<string> | Iterable<string>): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    for await (const chunk of chunks) await handle.appendFile(chunk);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Fills a store from the files of an export, or goes on with an import that was interrupted. Everything is
 * checked before the first row is written.
 *
 * @throws DamagedExport; Error if the store is not empty
 */
export async function readExport(directory: string, dump: Dump, onProgress: OnProgress): Promise<Manifest> {
  const { manifest, digest } = await readManifest(directory);
  await checkFiles(directory, manifest);
  const files = dump.parts.flatMap((part) => {
    const described = manifest.parts.find(({ name }) => name === part.name);
    return described ? [{ part, described }] : [];
  });
  const unknown = manifest.parts.find(({ name }) => !dump.parts.some((part) => part.name === name));
  if (unknown) throw new DamagedExport(`${MANIFEST}: the part ${unknown.name} is not known to this version.`);
  for (const { part, described } of files) await checkPart(directory, part, described, onProgress);

  let progress = await dump.progress();
  if (progress && progress.manifest !== digest)
    throw new Error(
      'The store has an unfinished import of another export. Complete that one, or empty the store.',
    );
  if (!progress) {
    for (const part of dump.parts)
      if (!part.isMerged && !(await isEmpty(part)))
        throw new Error(`The store is not empty: it has ${part.name}. Import into an empty store.`);
    progress = { manifest: digest, rows: {} };
    await dump.begin(progress);
  }
  for (const { part } of files) await fill(directory, dump, part, progress, onProgress);
  await dump.finish();
  return manifest;
}

async function isEmpty(part: DumpPart): Promise<boolean> {
  for await (const rows of part.batches()) return rows.length === 0;
  return true;
}

/** Adds the rows of a part that were not added before. */
async function fill(
  directory: string,
  dump: Dump,
  part: DumpPart,
  progress: ImportProgress,
  onProgress: OnProgress,
): Promise<void> {
  const { name } = part;
  let read = 0;
  for await (const lines of batchesOf(directory, name)) {
    const fresh = lines.slice(Math.max(0, (progress.rows[name] ?? 0) - read));
    read += lines.length;
    if (fresh.length === 0) continue;
    progress.rows[name] = read;
    try {
      await dump.add(
        part,
        fresh.map(({ row }) => row),
        progress,
      );
    } catch (error) {
      const { message } = ((error as Error).cause ?? error) as Error;
      throw new Error(`${fileOf(name)}, lines ${fresh[0]!.number} to ${read}: ${message}`, { cause: error });
    }
    onProgress(name, read);
  }
}

async function readManifest(directory: string): Promise<{ manifest: Manifest; digest: string }> {
  const text = await readFile(join(directory, MANIFEST), 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT' && cause.code !== 'ENOTDIR') throw cause;
    throw new DamagedExport(
      `${directory} has no ${MANIFEST}: it is no export, or one that was not completed.`,
    );
  });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    const before = text.slice(0, Number(/position (\d+)/.exec((error as Error).message)?.[1] ?? text.length));
    throw new DamagedExport(`${MANIFEST}, line ${before.split('\n').length}: not valid JSON.`);
  }
  const checked = MANIFEST_RULE.safeParse(content);
  if (checked.success)
    return { manifest: checked.data, digest: createHash('sha256').update(text).digest('hex') };
  const issues = issuesOf(checked.error.issues).map(({ path, message }) => `${path}: ${message}`);
  throw new DamagedExport(
    `${MANIFEST} is not the manifest of an export of this version: ${issues.join('; ')}.`,
  );
}

/** The directory has the files of the manifest and no others. */
async function checkFiles(directory: string, { parts }: Manifest): Promise<void> {
  const expected = [MANIFEST, ...parts.map(({ name }) => fileOf(name))];
  const present = await readdir(directory);
  const missing = expected.find((name) => !present.includes(name));
  if (missing !== undefined) throw new DamagedExport(`${missing} is missing.`);
  const foreign = present.find((name) => !expected.includes(name));
  if (foreign !== undefined) throw new DamagedExport(`${foreign} does not belong to this export.`);
}

async function checkPart(
  directory: string,
  part: DumpPart,
  { name, rows, sha256 }: PartManifest,
  onProgress: OnProgress,
): Promise<void> {
  const file = fileOf(name);
  let read = 0;
  let last = 0n;
  const digest = createHash('sha256');
  for await (const lines of batchesOf(directory, name, digest)) {
    for (const { number, row } of lines) {
      if (number > rows)
        throw new DamagedExport(`${file}, line ${number}: the manifest counts ${rows} lines.`);
      const faults = faultsOf(row, part.rule.safeParse(row));
      if (part.ascends && faults.length === 0) {
        const id = BigInt(row.id as string);
        if (id <= last) faults.push('id: is not above that of the line before');
        last = id;
      }
      if (faults.length > 0) throw new DamagedExport(`${file}, line ${number}: ${faults.join('; ')}.`);
    }
    read += lines.length;
    onProgress(`checking ${name}`, read);
  }
  if (read < rows)
    throw new DamagedExport(
      `${file}, line ${read + 1}: the file ends here, but the manifest counts ${rows} lines.`,
    );
  if (digest.digest('hex') !== sha256)
    throw new DamagedExport(`${file}, lines 1 to ${rows}: they are not those of this export (SHA-256).`);
}

/** What is wrong with a row. A rule would also take what it can convert, such as text with spaces to trim. */
function faultsOf(row: DumpRow, checked: z.ZodSafeParseResult<unknown>): string[] {
  if (!checked.success)
    return issuesOf(checked.error.issues).map(({ path, message }) => `${path}: ${message}`);
  const read = checked.data as DumpRow;
  return Object.keys(row)
    .filter((name) => typeof row[name] !== 'object' && row[name] !== read[name])
    .map((name) => `${name}: is not as an export has it`);
}

interface Line {
  number: number;
  row: DumpRow;
}

/**
 * The rows of a file in batches.
 *
 * @param digest gets all bytes of the file
 * @throws DamagedExport if a line does not match its checksum
 */
async function* batchesOf(directory: string, name: string, digest?: Hash): AsyncGenerator<Line[]> {
  const file = fileOf(name);
  let number = 0;
  let rest: Buffer = Buffer.alloc(0);
  let lines: Line[] = [];
  for await (const chunk of createReadStream(join(directory, file), { highWaterMark: 1_048_576 })) {
    digest?.update(chunk as Buffer);
    rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, start)) {
      number++;
      lines.push({ number, row: parsed(rest.toString('utf8', start, end), `${file}, line ${number}`) });
      start = end + 1;
      if (lines.length < BATCH_SIZE) continue;
      yield lines;
      lines = [];
    }
    rest = rest.subarray(start);
    if (rest.length > MAX_LINE_LENGTH)
      throw new DamagedExport(`${file}, line ${number + 1}: not a line of an export.`);
  }
  if (rest.length > 0) throw new DamagedExport(`${file}, line ${number + 1}: the line is cut off.`);
  if (lines.length > 0) yield lines;
}

function parsed(line: string, place: string): DumpRow {
  const match = CHECKSUM.exec(line);
  if (!match) throw new DamagedExport(`${place}: not a line of an export.`);
  const json = `${match[1]}}`;
  if (checksumOf(json) !== match[2])
    throw new DamagedExport(`${place}: the line does not match its checksum.`);
  try {
    return JSON.parse(json) as DumpRow;
  } catch {
    throw new DamagedExport(`${place}: not valid JSON.`);
  }
}

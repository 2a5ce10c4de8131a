import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { grouped } from '../../src/foundation/words.ts';
import { cases } from '../kit/cases.ts';
import { newFile, temporaryFolder } from '../kit/folder.ts';

const home = temporaryFolder();
let places = 0;
const place = () => join(home, `${++places}`);
const newStore = () => ({ DATA_FILE: `${place()}.db` });
const csv = (count: number) =>
  'name,category.name,quantity\n'.concat(
    ...Array.from({ length: count }, (_, n) => `Pet ${(n * 7_919) % count},Kind ${n % 50},${n % 100}\n`),
  );

/** The most memory that a command may take, in MB. */
const MAX_MEMORY = 150;

/** Prints the memory of the process at most, in kB, and the blocks of 512 bytes that it has written. */
const USAGE = `data:text/javascript,${encodeURIComponent(`
  import { readFileSync } from 'node:fs';
  process.on('exit', () => {
    const [, memory] = /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
    process.stderr.write('usage ' + memory + ' ' + process.resourceUsage().fsWrite + '\\n');
  });
`)}`;

interface Options {
  /** Written to standard input, again and again until it is closed. */
  endless?: Buffer;
  /** Arguments of `ulimit`. */
  limits?: string;
}

/** Runs a `data` command of the built program, and measures it. */
async function data(
  settings: Record<string, string>,
  args: string[],
  { endless, limits = '-c 0' }: Options = {},
) {
  const began = performance.now();
  const child = spawn(
    'bash',
    [
      '--norc',
      '-c',
      `ulimit ${limits}; exec "$0" "$@"`,
      process.execPath,
      'dist/petstore.js',
      'data',
      ...args,
    ],
    {
      env: { PATH: process.env.PATH, TMPDIR: home, NODE_OPTIONS: `--import="${USAGE}"`, ...settings },
      stdio: [endless ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      // Nothing goes on without the test.
      timeout: 120_000,
      killSignal: 'SIGKILL',
    },
  );
  let [stdout, stderr] = ['', ''];
  child.stdout!.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const write = () => {
    while (child.stdin!.writable && child.stdin!.write(endless!));
  };
  if (endless) child.stdin!.on('drain', write).on('error', () => {});
  if (endless) write();
  const [code] = (await once(child, 'close')) as [number | null];
  const [usage, memory, blocks] = /usage (\d+) (\d+)\n/.exec(stderr) ?? [];
  return {
    code,
    stdout,
    stderr: stderr.replace(usage ?? '', ''),
    megabytes: Number(memory) / 1_024,
    written: Number(blocks) * 512,
    seconds: (performance.now() - began) / 1_000,
  };
}

describe('data of any size', { timeout: 180_000 }, () => {
  it('is loaded, exported and imported within constant memory, and written a few times at most', async () => {
    const rows = cases(50_000, 100_000);
    const [file, directory, store] = [newFile(home, csv(rows)), place(), newStore()];
    const { size } = statSync(file);
    const loaded = await data(store, ['load', 'pets', file, '--create-parents']);
    expect(loaded).toMatchObject({ code: 0, stdout: `Loaded ${grouped(rows)} pets and 50 categories.\n` });
    expect(loaded.megabytes).toBeLessThan(MAX_MEMORY);
    // The events and indexes of a pet are twelve times as long as such a row. Commits are smaller on a busy machine.
    expect(loaded.written / size).toBeLessThan(25);
    const progress = loaded.stderr.trim().split('\n');
    expect(progress.length).toBeLessThanOrEqual(loaded.seconds + 2);
    expect(progress.at(-1)).toBe(`Loaded ${grouped(rows)} pets; next is line ${rows + 2}`);

    const exported = await data(store, ['export', directory]);
    expect(exported, exported.stderr).toMatchObject({ code: 0 });
    expect(exported.megabytes).toBeLessThan(MAX_MEMORY);
    const imported = await data(newStore(), ['import', directory]);
    expect(imported, imported.stderr).toMatchObject({ code: 0 });
    expect(imported.megabytes).toBeLessThan(MAX_MEMORY);
    expect(imported.written / statSync(join(directory, 'pets.jsonl')).size).toBeLessThan(3);
  });

  it('has as many new parents as rows', async () => {
    // More than it remembers.
    const rows = cases(21_000, 51_000);
    const content = 'name,category.name\n'.concat(
      ...Array.from({ length: rows }, (_, n) => `Pet,Kind ${n}\n`),
    );
    const loaded = await data(newStore(), ['load', 'pets', newFile(home, content), '--create-parents']);
    expect(loaded, loaded.stderr).toMatchObject({
      stdout: `Loaded ${grouped(rows)} pets and ${grouped(rows)} categories.\n`,
    });
    expect(loaded.megabytes).toBeLessThan(MAX_MEMORY);
  });

  const columns = Array.from({ length: 100_000 }, (_, n) => `column ${n}`).join(',');
  it.each([
    [
      '100,000 columns',
      () => [newFile(home, `${columns}\n`)],
      undefined,
      /has no line end in its first 64 kB/,
    ],
    [
      'a header of 100 MB',
      () => [newFile(home, Buffer.alloc(100_000_000, 'x'))],
      undefined,
      /has no line end/,
    ],
    ['a device', () => ['/dev/zero'], undefined, /it is a device/],
    ['endless zeros', () => ['-'], Buffer.alloc(65_536), /it contains a zero byte/],
    ['an endless header', () => ['-'], Buffer.alloc(65_536, 'x'), /has no line end in its first 64 kB/],
    [
      'an endless line',
      () => ['-'],
      Buffer.alloc(65_536, '{"name":"x'),
      /has a line that is longer than 1 MB/,
    ],
  ])('is refused at once if it is %s', async (_what, args, endless, message) => {
    const refused = await data(newStore(), ['load', 'pets', ...args()], { ...(endless && { endless }) });
    expect(refused, refused.stderr).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
    expect(refused.stderr.trim()).not.toContain('\n');
    expect(refused.megabytes).toBeLessThan(MAX_MEMORY);
    expect(refused.written).toBeLessThan(16e6);
  });

  it.each([
    ['an empty store', 25_000, 6_000],
    ['a store in use', 6_000, 1_200],
  ])('loses nothing when the disk is full, and goes on: %s', async (_place, rows, blocks) => {
    const [file, directory, store] = [newFile(home, csv(rows)), place(), newStore()];
    const load = ['load', 'pets', file, '--create-parents'];
    // In blocks of 1,024 bytes, as large as any file may become.
    const full = await data(store, load, { limits: `-f ${blocks}` });
    expect(full.code, full.stderr).toBe(1);
    const [, loaded, line] = /\nLoaded ([\d,]+) pets\. Continue with --from (\d+)\.\n/.exec(full.stderr)!;
    expect(Number(line)).toBe(Number(loaded!.replace(',', '')) + 2);
    expect(Number(line)).toBeGreaterThan(2);
    const resumed = await data(store, [...load, '--from', line!]);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
    expect((await data(store, ['export', directory])).code).toBe(0);
    const names = readFileSync(join(directory, 'pets.jsonl'), 'utf8').match(/"name":"[^"]*"/g)!;
    expect(names).toHaveLength(rows);
    expect(new Set(names)).toHaveLength(rows);
  });
});

it('is copied from standard input to a file that only this process can reach, and that goes with it', async () => {
  const TMPDIR = place();
  mkdirSync(TMPDIR);
  const child = spawn(process.execPath, ['dist/petstore.js', 'data', 'load', 'pets', '-'], {
    env: { PATH: process.env.PATH, TMPDIR, ...newStore() },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.write('name\nDog\n');
  const descriptors = `/proc/${child.pid}/fd`;
  const copies = () =>
    readdirSync(descriptors)
      .map((descriptor) => join(descriptors, descriptor))
      .filter((descriptor) => readlinkSync(descriptor).startsWith(TMPDIR));
  await expect
    .poll(() => copies().map((copy) => readFileSync(copy, 'utf8')), { timeout: 20_000 })
    .toEqual(['name\nDog\n']);
  expect(copies().map((copy) => statSync(copy).mode & 0o777)).toEqual([0o600]);
  expect(readdirSync(TMPDIR)).toEqual([]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(readdirSync(TMPDIR)).toEqual([]);
});

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addSampleData } from '../../../src/sample.ts';
import { startServer } from '../../kit/process.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();

const fill = async () => {
  const store = folder.open();
  await addSampleData(store);
  store.close();
};

describe('a corrupt data file', { timeout: 60_000 }, () => {
  it.each<[name: string, damage: (bytes: Buffer) => void]>([
    [
      'invalid UTF-8 in a text, which would abort the process when read',
      (bytes) => {
        bytes[bytes.indexOf('Tweety') + 1]! ^= 0x80;
      },
    ],
    [
      'a corrupt page header',
      (bytes) => {
        // The page of the pets table with this name.
        const page = Math.floor(bytes.indexOf('Tweety') / 4_096) * 4_096;
        for (let i = 0; i < 12; i++) bytes[page + i]! ^= 0x55;
      },
    ],
  ])('prevents the start with a message that names the file: %s', async (_name, damage) => {
    await fill();
    const bytes = readFileSync(folder.file);
    damage(bytes);
    writeFileSync(folder.file, bytes);
    const failure = await startServer({ DATA_FILE: folder.file }).catch((error: Error) => error);
    expect((failure as Error).message).toMatch(/^The server ended with 1:\n/);
    expect((failure as Error).message).toContain(`The data file ${folder.file} is damaged: `);
    expect((failure as Error).message.trim().split('\n')).toHaveLength(2);
  });
});

/** Runs the command that follows in its own mount namespace, if the system allows it. */
const OWN_MOUNTS = ['unshare', '--user', '--map-root-user', '--mount'];
const canMount = spawnSync(OWN_MOUNTS[0]!, [...OWN_MOUNTS.slice(1), 'true']).status === 0;

describe.runIf(canMount)('a data file on a read-only disk', () => {
  it('prevents the start with a message that names the file', { timeout: 60_000 }, async () => {
    await fill();
    const script = `mount --bind "${folder.home}" "${folder.home}" && mount -o remount,bind,ro "${folder.home}" && exec "$@"`;
    const start = [process.execPath, 'dist/main.js'];
    const { status, stderr } = spawnSync(
      OWN_MOUNTS[0]!,
      [...OWN_MOUNTS.slice(1), 'sh', '-c', script, 'sh', ...start],
      { env: { PATH: process.env.PATH, DATA_FILE: folder.file, PORT: '0' }, encoding: 'utf8' },
    );
    expect(stderr).toMatch(/^The data file .* cannot be opened: EROFS: read-only file system/);
    expect(stderr).toContain(folder.file);
    expect(status).toBe(1);
  });
});

describe('a data file in a folder that does not exist', () => {
  it('prevents the start, unless the folder is called data', () => {
    const missing = join(folder.home, 'dta', 'petstore.db');
    expect(() => folder.open({ file: missing })).toThrow(
      `The data file ${missing} cannot be opened: its folder ${join(folder.home, 'dta')} does not exist.`,
    );
    folder.open({ file: join(folder.home, 'data', 'petstore.db') });
  });
});

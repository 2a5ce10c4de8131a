import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A folder for the tests of a file or group, which is removed after them. To be called outside of them. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a file under a new name. @returns its path */
export function newFile(folder: string, content: string | Buffer): string {
  const file = join(folder, randomUUID());
  writeFileSync(file, content);
  return file;
}

import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../kit/folder.ts';
import { runKeys } from '../kit/process.ts';

/** Commands of the built program whose output goes nowhere, as shells run them. */
describe.runIf(process.platform === 'linux')('the output of a command', () => {
  const home = temporaryFolder();
  const settings = { DATA_FILE: join(home, 'petstore.db') };
  const file = join(home, 'categories.csv');
  beforeAll(() => {
    const names = Array.from({ length: 2_000 }, (_, n) => `Category ${n}\n`);
    writeFileSync(file, `name\n${names.join('')}`);
  });

  /** @returns the exit code of `petstore`, with the output of the whole line */
  const shell = (line: string) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const script = `petstore() { '${process.execPath}' dist/petstore.js "$@"; }; ${line}; exit "\${PIPESTATUS[0]}"`;
      execFile('bash', ['-c', script], { env: { ...process.env, ...settings } }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });

  it('that is lost on a full disk is exit code 1 and a message', async () => {
    const { code, stderr } = await shell('petstore keys create --name lost --plan free > /dev/full');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The command succeeded, but its output cannot be written: ENOSPC.*\n$/);
    expect((await runKeys(settings, 'list')).stdout).toContain('lost');
  });

  it('that nobody reads on ends the command without a word', async () => {
    expect(await shell('petstore keys list | head -c 0')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each(['2>&1 | head -2', '2> /dev/full'])(
    'does not stop what it tells the progress of: %s',
    async (to) => {
      const { code } = await shell(`petstore data load categories ${file} ${to}`);
      expect(code).toBe(0);
      const { stdout } = await shell(`petstore data export ${mkdtempSync(join(home, 'export-'))}/all`);
      expect(stdout).toMatch(to.includes('head') ? /\b2,000 categories/ : /\b4,000 categories/);
    },
  );

  it('has no control sequences of others', async () => {
    writeFileSync(join(home, 'escape.csv'), '\u001b[2Jname\u009b,x\u2028\nRex,1\n');
    const name = `${home}/missing\u001b]0;title\u0007.csv`;
    for (const path of [`${home}/escape.csv`, name]) {
      const { code, stderr } = await shell(`petstore data load categories '${path}'`);
      expect(code).toBe(1);
      expect(stderr).toMatch(/\ufffd/);
      expect(stderr).not.toMatch(/(?!\n)\p{Cc}|\p{Zl}/u);
    }
  });
});

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryFolder } from './kit/folder.ts';
import { freePort } from './kit/mongo.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const home = temporaryFolder();

it('the commands of the README work as written in a fresh copy', async () => {
  const [, start] = /```sh\nnpm ci && (npm start)\n```/.exec(readme)!;
  const [, commands] = /## Keys and data\n\n```sh\n([\s\S]*?)```/.exec(readme)!;
  const isSource = (name: string) => !['node_modules', 'dist', 'data', 'test', '.git'].includes(name);
  // Pages are built as before. The packages are those that are installed.
  const built = ['dist/pages', 'dist/pages.sha256', 'dist/guides.json'];
  for (const name of [...readdirSync(root).filter(isSource), ...built])
    cpSync(join(root, name), join(home, name), { recursive: true });
  mkdirSync(join(home, 'node_modules/.bin'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '.bin') symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name));
  writeFileSync(join(home, 'pets.csv'), 'name,category.name\nRex,Dinosaurs\n');
  const options = {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: String(await freePort()) },
  };
  const server = spawn('bash', ['-c', `exec ${start!}`], options);
  const exited = once(server, 'exit');
  try {
    let output = '';
    for (const stream of [server.stdout, server.stderr]) stream.on('data', (text) => (output += text));
    await expect.poll(() => output, { timeout: 60_000 }).toMatch(/\nTry:\n {2}curl .*\n/);
    const { stdout } = await promisify(execFile)('bash', ['-ec', commands!], options);
    expect(stdout).toMatch(/petstore_[\w-]{43,}[\s\S]*Mobile app[\s\S]*Loaded 1 pet and 1 category\./);
    const [curl] = /curl .*/.exec(output)!;
    const listed = await promisify(execFile)('bash', ['-c', curl!], options);
    expect(JSON.parse(listed.stdout)).toHaveLength(2);
  } finally {
    server.kill('SIGTERM');
  }
  // npm passes the signal on, and its status is that of the server.
  expect(await exited).toEqual([0, null]);
  await expect(fetch(`http://localhost:${options.env.PORT}/health/live`)).rejects.toThrow();
});

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../kit/folder.ts';
import { runCommand, runKeys, useServer } from '../kit/process.ts';

const home = temporaryFolder();
const settings = { DATA_FILE: join(home, 'petstore.db') };
const documents = (...args: string[]) => runCommand('documents', settings, ...args);
const file = (name: string, content: unknown): string => {
  const path = join(home, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};
const apollo = (operations: object[]) => ({
  format: 'apollo-persisted-query-manifest',
  version: 1,
  operations,
});

const PET = 'query Pet($id: ID!) { pet(id: $id) { name } }';
const PAGES = 'query Pages($n: Int) { categories(first: $n) { nodes { pets(first: 5) { nodes { id } } } } }';

describe('the documents command', () => {
  const server = useServer(settings);

  it('pushes manifests, lists them, and binds keys to them beside a server', async () => {
    // With the byte order mark that PowerShell writes.
    const map = file('map.json', `\ufeff${JSON.stringify({ pet: PET })}`);
    const manifest = file(
      'apollo.json',
      apollo([{ id: 'pages', name: 'Pages', type: 'query', body: PAGES }]),
    );
    const pushed = await documents('push', 'web', map, manifest, '--json');
    expect(JSON.parse(pushed.stdout)).toEqual({
      list: 'web',
      documents: [
        { id: 'pet', operations: 'Pet', added: true },
        { id: 'pages', operations: 'Pages', added: true },
      ],
    });
    // The same again changes nothing.
    expect((await documents('push', 'web', map)).stdout).toContain('web: 0 added, 1 already there.');
    const { stdout } = await runKeys(
      settings,
      'create',
      '--name',
      'bound',
      '--plan',
      'pro',
      '--documents',
      'web',
      '--json',
    );
    const { key } = JSON.parse(stdout);
    const ask = async (body: object) =>
      (
        await fetch(`${server.url}/graphql`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).status;
    expect(await ask({ documentId: 'pet', variables: { id: 1 } })).toBe(200);
    expect(await ask({ query: PET, variables: { id: 1 } })).toBe(200);
    expect(await ask({ query: '{ pets { totalCount } }' })).toBe(403);
    const rows = JSON.parse((await documents('list', 'web', '--json')).stdout);
    expect(rows).toMatchObject([
      { list: 'web', id: 'pages', operations: 'Pages' },
      { list: 'web', id: 'pet', operations: 'Pet' },
    ]);
    expect((await documents('check', 'web')).stdout).toBe('Every document fits the schema: 2.\n');
    expect((await documents('remove', 'web', '--unused', '90d')).stdout).toBe('0 of 2 removed.\n');
    expect((await documents('remove', 'web', '--id', 'pages')).code).toBe(0);
    expect((await documents('list')).stdout).not.toContain('pages');
    expect((await documents('push', 'web', '/none.json')).stderr).toBe(
      'Nothing was stored. /none.json cannot be read: there is no such file\n',
    );
  });

  it.each<[unknown, RegExp]>([
    [{ a: 'query A { nope }' }, /^Nothing was stored\.\na: Cannot query field "nope"/],
    [{ b: '{' }, /^Nothing was stored\.\nb: Syntax Error/],
    [{ pet: '{ pets { totalCount } }' }, /^Nothing was stored\. These ids have another text: pet\.$/],
    [{ 'a b': PET }, /a b: the id must have 1 to 128 visible ASCII characters/],
    [{ a: 7 }, /^Nothing was stored\.\na: Body must be a string\. Received: 7\.$/],
    [{}, /it has no documents/],
    [[], /it has no documents/],
    ['no JSON', /is not valid JSON\. It must be JSON: a manifest/],
  ])('stores nothing of a faulty manifest %j', async (content, message) => {
    const good = { good: '{ orders { totalCount } }' };
    const isMap = typeof content === 'object' && !Array.isArray(content) && Object.keys(content!).length > 0;
    const { code, stderr, stdout } = await documents(
      'push',
      'web',
      file('good.json', good),
      file('faulty.json', isMap ? { ...good, ...(content as object) } : content),
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trimEnd()).toMatch(message);
  });

  it('has stored nothing of them', async () => {
    expect((await documents('list')).stdout).not.toContain('good');
  });

  it('explains what it cannot carry out', async () => {
    const refused: [call: string, code: number, message: RegExp][] = [
      ['list none', 1, /^There is no list none\.$/],
      ['check none', 1, /^There is no list none\.$/],
      ['remove none --id x', 1, /^There is no list none\.$/],
      ['remove web --id none', 1, /^The list web has no document none\.$/],
      ['remove web', 2, /^remove needs either --id or --unused\./],
      ['remove web --id x --unused 1d', 2, /'--id <id>' cannot be used with option '--unused/],
      ['remove web --unused soon', 2, /'soon' is invalid\. It must be a duration/],
      ['push any x.json', 2, /'any' is invalid for argument 'name'\. It must have 1 to 100/],
      ['push web', 2, /missing required argument 'files'/],
      ['push', 2, /missing required argument 'name'/],
    ];
    for (const [call, expected, message] of refused) {
      const { code, stderr } = await documents(...call.split(' '));
      expect(code, call).toBe(expected);
      expect(stderr.trimEnd(), call).toMatch(message);
    }
  });

  it('creates no data file for manifests that it cannot add', async () => {
    const DATA_FILE = join(home, 'misspelt.db');
    for (const manifest of [join(home, 'none.json'), file('faulty.json', { a: '{ nope }' })])
      expect((await runCommand('documents', { DATA_FILE }, 'push', 'web', manifest)).code).toBe(1);
    expect(existsSync(DATA_FILE)).toBe(false);
  });

  it('keys cannot be bound to a list that does not exist', async () => {
    const { code, stderr } = await runKeys(
      settings,
      'create',
      '--name',
      'x',
      '--plan',
      'pro',
      '--documents',
      'report:none',
    );
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'There is no list none.\n' });
  });
});

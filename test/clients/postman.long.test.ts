import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { printedKey, useServer } from '../kit/process.ts';

const folder = temporaryFolder();

interface Run {
  run: { stats: Record<string, { total: number; failed: number }>; failures: unknown[] };
}

/** The collection as people use it: imported from a running gateway, with a key. */
describe('the Postman collection', () => {
  const server = useServer({ DATA_FILE: join(folder, 'petstore.db') });
  const empty = useServer({ DATA_FILE: join(folder, 'empty.db'), SAMPLE_DATA: 'off' });

  it('has every operation, and nothing optional is switched on', async () => {
    const { item, variable } = await (await fetch(`${server.url}/postman.json`)).json();
    expect(variable.find(({ key }: { key: string }) => key === 'baseUrl').value).toBe(server.url);
    const requests = item.flatMap((tag: { item: { request: object }[] }) => tag.item);
    expect(requests).toHaveLength(api.routes.length + api.streamRoutes.length);
    const required = new Set([
      'Content-Type',
      ...api.routes.flatMap(({ query = [] }) =>
        query.flatMap(({ name, required }) => (required ? [name] : [])),
      ),
    ]);
    // A webhook of its own receives events for as long as the run takes.
    for (const { request } of requests)
      expect(request.body?.raw ?? '').not.toMatch(/"https?:\/\/(?!\w+\.invalid\/)/);
    for (const { request } of requests)
      for (const { key, disabled = false } of [...request.header, ...request.url.query])
        expect(disabled, key).toBe(!required.has(key));
    expect(await (await fetch(`${server.url}/docs`)).text()).toContain('/postman.json');
  });

  it('runs as a whole with its key alone, also again, and on a server without sample data', async () => {
    const collection = join(folder, 'collection.json');
    const report = join(folder, 'report.json');
    for (const each of [server, server, empty]) {
      writeFileSync(collection, await (await fetch(`${each.url}/postman.json`)).text());
      const args = ['run', collection, '--env-var', `key=${printedKey(each)}`, '--reporters', 'json'];
      const options = ['--reporter-json-export', report, '--timeout-request', '20000'];
      await promisify(execFile)('test/clients/node_modules/.bin/newman', [...args, ...options]).catch(
        (error) => {
          throw new Error(`${error.message}\n${error.stdout}`);
        },
      );
      const { run } = JSON.parse(readFileSync(report, 'utf8')) as Run;
      expect(run.failures).toEqual([]);
      expect(run.stats.assertions).toMatchObject({
        total: api.routes.length + api.streamRoutes.length,
        failed: 0,
      });
    }
  });
});

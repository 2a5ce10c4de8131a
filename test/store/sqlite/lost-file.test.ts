import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { api } from '../../../src/api.ts';
import { addSampleData } from '../../../src/sample.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();

describe('a data file lost while the server runs', () => {
  it.each<[how: string, change: () => void]>([
    ['deleted', () => rmSync(folder.file)],
    [
      'replaced',
      () => {
        copyFileSync(folder.file, `${folder.file}.copy`);
        renameSync(`${folder.file}.copy`, folder.file);
      },
    ],
  ])('makes writes and readiness fail with 503 once it is %s', async (_how, change) => {
    const store = folder.open();
    await addSampleData(store, api);
    const gateway = await TestGateway.start(store);
    const create = () => gateway.call('/categories', { method: 'POST', body: { name: 'Lions' } });
    expect((await create()).status).toBe(201);
    expect((await gateway.call('/health/ready')).status).toBe(200);
    change();
    for (let i = 0; i < 3; i++) {
      const refused = await create();
      expect(refused.status).toBe(503);
      expect(refused.json).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    }
    const order = 'createOrder(input: {}) { id }';
    for (const mutation of [`mutation { ${order} }`, `mutation { a: ${order} b: ${order} }`])
      expect((await gateway.graphql(mutation)).json.errors[0].extensions.code).toBe('UNAVAILABLE');
    expect((await gateway.call('/health/ready')).status).toBe(503);
    // The refused writes had no effect.
    expect((await gateway.call('/categories')).json).toHaveLength(5);
    expect(gateway.logs.join('')).toContain('was deleted or replaced');
    await gateway.close();
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { runKeys, useServer } from '../kit/process.ts';

/** Tests the keys command beside a server on this store. They mostly wait for what it changed to take effect. */
export function testKeysBesideServer(store: string, settings: Record<string, string>): void {
  describe.concurrent(`the keys command beside a server on ${store}`, () => {
    const server = useServer(settings);
    const keys = (...args: string[]) => runKeys(settings, ...args);
    const create = async (...args: string[]) =>
      JSON.parse((await keys('create', '--name', 'test', '--json', ...args)).stdout);
    const status = async (key: string) =>
      (await fetch(`${server.url}/pets`, { headers: { 'x-api-key': key } })).status;

    it('creates, lists with usage, rotates and revokes a key', async () => {
      const { id, key, plan } = await create('--plan', 'free');
      expect({ id, key, plan }).toEqual({
        id: expect.stringMatching(/^key_/),
        key: expect.stringMatching(/^petstore_[0-9A-Za-z]{49}$/),
        plan: 'free',
      });
      expect(await status(key)).toBe(200);

      const rotated = JSON.parse((await keys('rotate', id, '--grace', '1h', '--json')).stdout);
      expect(rotated).toEqual({ id, key: expect.any(String), plan: 'free' });
      const reply = await fetch(`${server.url}/pets`, { headers: { 'x-api-key': rotated.key } });
      expect(reply.headers.get('x-ratelimit-remaining')).toBe('58');

      // The embedded store saves counts twice a second.
      const listed = async () =>
        JSON.parse((await keys('list', '--json')).stdout).find((row: { id: string }) => row.id === id);
      await vi.waitFor(
        async () =>
          expect(await listed()).toMatchObject({
            name: 'test',
            plan: 'free',
            perMinute: 60,
            perDay: 1000,
            usedToday: 2,
          }),
        5_000,
      );
      expect((await keys('list')).stdout).not.toContain(key);

      const { stdout } = await keys('list');
      const day = new Date().toISOString().slice(0, 10);
      const cells = `${id} free 2 of 1000 (${day}|never) ${rotated.key.slice(9, 15)}… test`;
      expect(stdout).toMatch(new RegExp(`^${cells.replaceAll(' ', ' +')}$`, 'm'));
      const [, expiry] = new RegExp(`^${id}\n  secret ${key.slice(0, 15)}… until (\\S+)$`, 'm').exec(stdout)!;
      expect(Math.abs(Date.parse(expiry!) - Date.now() - 3_600_000)).toBeLessThan(60_000);

      expect((await keys('revoke', id)).code).toBe(0);
      const revokedAt = Date.now();
      while ((await status(rotated.key)) !== 401) {
        expect(Date.now() - revokedAt).toBeLessThan(8_000);
        await sleep(100);
      }
      expect((await keys('rotate', id)).code).toBe(1);
    });

    it('lists each key below the one that made it', async () => {
      const [one, two] = [await create('--plan', 'pro'), await create('--plan', 'free')];
      const make = async (key: string, name: string) => {
        const headers = { 'x-api-key': key, 'content-type': 'application/json' };
        const body = JSON.stringify({ name, scopes: ['pets:read'] });
        return (await fetch(`${server.url}/keys`, { method: 'POST', headers, body })).json();
      };
      const [a, b, c] = [await make(one.key, 'A'), await make(two.key, 'B'), await make(one.key, 'C')];
      const family = [one, a, c, two, b];
      const { stdout } = await keys('list');
      const table = stdout.slice(0, stdout.indexOf('\n\n')).split('\n');
      const lines = table.filter((line) => family.some(({ id }) => line.includes(id)));
      expect(lines.map((line) => [line.split(' ')[0], line.includes('└')])).toEqual([
        [one.id, false],
        [a.id, true],
        [c.id, true],
        [two.id, false],
        [b.id, true],
      ]);
      expect(lines[1]).toMatch(new RegExp(` ${a.key.slice(9, 15)}… +└ A$`));
      expect(stdout).toContain(`\n${a.id}\n  scopes pets:read\n`);
      const rows: { id: string; owner?: string }[] = JSON.parse((await keys('list', '--json')).stdout);
      const owners = family.map(({ id }) => rows.find((row) => row.id === id)!.owner);
      expect(owners).toEqual([undefined, one.id, one.id, undefined, two.id]);
      expect((await keys('update', c.id, '--plan', 'pro')).stderr).toMatch(/no plan of its own/);
    });

    it('changes what a key may do, within 5 seconds, and clears it again', async () => {
      const { id, key } = await create(
        '--plan',
        'pro',
        '--scope',
        'orders:write,categories:read',
        '--expires',
        '90d',
        '--allow',
        '127.0.0.0/8,::1',
      );
      const row = async () =>
        JSON.parse((await keys('list', '--json')).stdout).find((each: { id: string }) => each.id === id);
      const created = await row();
      expect(created).toMatchObject({
        name: 'test',
        plan: 'pro',
        scopes: ['orders:write', 'categories:read'],
        allow: ['127.0.0.0/8', '::1'],
      });
      expect(Math.abs(Date.parse(created.expiresAt) - Date.now() - 90 * 86_400_000)).toBeLessThan(60_000);
      expect((await keys('update', id, '--scope', 'pets:read')).stderr).toBe('');
      const { stdout } = await keys('update', id, '--name', 'Old', '--allow', '192.0.2.0/24');
      expect(stdout).toMatch(new RegExp(`^ID .*\n${id} +pro +\\d+ of 10000 +\\S+ +\\S+… +Old\n\n${id}\n`));
      expect(stdout).toContain(`\n  expires ${created.expiresAt}\n  scopes pets:read\n  from 192.0.2.0/24\n`);
      await keys('update', id, '--allow', 'any', '--scope', 'any', '--name', 'Neu', '--expires', 'never');
      const { secrets: _, createdAt: __, ...rest } = await row();
      expect(rest).toMatchObject({ name: 'Neu', plan: 'pro', perMinute: 300, perDay: 10_000 });
      for (const cleared of ['scopes', 'allow', 'expiresAt']) expect(rest).not.toHaveProperty(cleared);
      expect(await status(key)).toBe(200);
      await keys('update', id, '--expires', '1s');
      await vi.waitFor(async () => expect(await status(key)).toBe(401), { timeout: 8_000, interval: 200 });
    });

    it('says on rotation how long the old secret works', async () => {
      const { id, key } = await create('--plan', 'pro');
      const withDefault = await keys('rotate', id);
      const [, expiry] = withDefault.stdout.match(
        new RegExp(`The old secret ${key.slice(0, 15)}… works until (\\S+)\\.`),
      )!;
      expect(Math.abs(Date.parse(expiry!) - Date.now() - 24 * 3_600_000)).toBeLessThan(60_000);
      const withoutGrace = await keys('rotate', id, '--grace', '0');
      expect(withoutGrace.stdout).toContain('The old secret stops working within 5 seconds.');
      expect(withoutGrace.stdout).not.toContain('works until');
    });
  });
}

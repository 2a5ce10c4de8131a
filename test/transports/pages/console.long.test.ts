import { expect, it, onTestFinished } from 'vitest';
import { expectAccessible, expectSkipLink, REFUSED, tabTo, withBrowser } from '../../kit/browser.ts';
import { Receiver } from '../../kit/receiver.ts';

withBrowser(
  'the console',
  (kit) => {
    it('shows facts, budget, usage by day and by operation, and live events of any key, and is accessible', async () => {
      const key = await kit.gateway.newKey('free');
      const tab = await kit.open('/console');
      const { page } = tab;
      await tab.see('Enter an API key above', '#hint');
      await expectSkipLink(tab);
      expect(await page.locator('#sections .card').count()).toBe(0);
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await tab.see('free', '#sections dd');
      const left = () => page.locator('.gauge [role="meter"]').first().getAttribute('aria-valuenow');
      await tab.see('never', '#sections dd');
      await tab.see('all', '#sections dd');
      // Each section has made its requests.
      const operations = /By operation on \d{4}-\d\d-\d\d[\s\S]*\(rest\)/;
      await tab.see(operations, 'section[aria-label="Usage"]');
      const today = new Date().toISOString().slice(0, 10);
      expect(await page.locator('.rows li').first().innerText()).toContain(today);
      for (const text of ['This key has no webhooks.', 'This key has made no keys.'])
        await tab.see(text, '#sections .note');
      await tabTo(tab, 'section[aria-label="Webhooks"] button:last-of-type');
      await tab.see(/\d+ requests?\./, 'section[aria-label="Requests"] [role="status"]');
      const before = Number(await left());
      await page.getByRole('button', { name: 'Listen' }).click();
      await tab.see('Listening …', '.controls [role="status"]');
      await expect.poll(left).toBe(String(before - 1));
      const big = '9007199254740993';
      await kit.gateway.call('/store/orders', { method: 'POST', body: `{"id":${big}}` });
      await kit.gateway.call('/categories', { method: 'POST', body: { name: 'Fish' } });
      const items = page.locator('.events li:visible');
      await expect.poll(() => items.count()).toBe(2);
      expect(await items.first().innerText()).toContain('category.created');
      await page.getByLabel('Contains').fill('order.created');
      await expect.poll(() => items.allInnerTexts()).toEqual([expect.stringContaining(`"id":${big}`)]);
      await page.getByLabel('Contains').fill('nothing like this');
      await expect.poll(() => items.count()).toBe(0);
      await page.getByLabel('Contains').fill('');
      await expectAccessible(tab, 'console');
      await page.getByRole('button', { name: 'Stop' }).click();
      await tab.see('Stopped after 2 events.', '.controls [role="status"]');
      // Another key gets nothing of this one.
      await page.getByLabel('API key').fill('');
      await page.getByRole('button', { name: 'Use', exact: true }).click();
      await page.locator('#sections .card').first().waitFor({ state: 'detached' });
      await tab.leave('console', REFUSED);
    });

    it('creates, tests, pauses, replays, rotates and deletes a webhook, whose secrets are shown once', async () => {
      const receiver = await Receiver.start();
      onTestFinished(() => receiver.close());
      const key = await kit.gateway.newKey('pro');
      const tab = await kit.open('/console', { key });
      const { page } = tab;
      const section = page.getByRole('region', { name: 'Webhooks' });
      const click = (name: string) => section.getByRole('button', { name, exact: true }).click();
      const seesStatus = (text: string | RegExp) => tab.see(text, '.entry [role="status"]');
      await tab.see('This key has no webhooks.');
      await page.getByLabel('URL', { exact: true }).fill('https://localhost/hook#fragment');
      await click('Create');
      await tab.see(/url/, 'form [role="status"]');
      await page.getByLabel('URL', { exact: true }).fill(receiver.url);
      await page.getByLabel('Event types').fill('order.created');
      await click('Create');
      await tab.see(receiver.url, '.entry h3');
      await tab.see('order.created', '.entry dd');
      const secretOf = async () =>
        (await page.locator('.entry code').filter({ hasText: 'whsec_' }).innerText()).trim();
      const first = await secretOf();
      await tab.see('Waiting for the first event', '.entry dd');
      await click('Test');
      await seesStatus(/The test was answered 204 after \d+ ms/);
      await tab.see('was answered 204', '.entry li');
      expect(receiver.received.map(({ event }) => event.type)).toContain('webhook.test');
      await click('Pause');
      await tab.see('Paused', '.entry dd');
      await click('Resume');
      // A test is no event.
      await tab.see('Waiting for the first event', '.entry dd');
      kit.gateway.deliver();
      onTestFinished(() => kit.gateway.endDeliveries());
      await kit.gateway.call('/store/orders', { method: 'POST', body: {} });
      await expect.poll(() => receiver.received.length).toBe(2);
      await expect
        .poll(async () => (await kit.gateway.call('/webhooks', { key })).json[0].after)
        .not.toBe(await page.getByLabel('Replay after event').inputValue());
      await click('Refresh');
      await tab.see('Delivering', '.entry dd');
      await kit.gateway.endDeliveries();
      // To another event than the one it has reached.
      await kit.gateway.call('/categories', { method: 'POST', body: { name: 'Birds' } });
      const place = (await kit.gateway.call('/events?limit=100')).json.at(-1).id;
      await page.getByLabel('Replay after event').fill(place);
      await click('Replay');
      await seesStatus('Replaying from there.');
      expect((await kit.gateway.call('/webhooks', { key })).json[0].after).toBe(place);
      await page.getByLabel('Replay after event').fill('no event');
      await click('Replay');
      await seesStatus(/invalid|must/);
      await click('Rotate secret');
      await expect.poll(secretOf).not.toBe(first);
      await expectAccessible(tab, 'console-webhooks');
      // Another visit does not see it.
      await page.reload();
      await tab.see(receiver.url, '.entry h3');
      expect(await page.locator('main').innerText()).not.toContain('whsec_');
      await click('Delete');
      await click('Delete it for good');
      await tab.see('This key has no webhooks.');
      expect((await kit.gateway.call('/webhooks', { key })).json).toEqual([]);
      await tab.leave('console-webhooks', REFUSED);
    });

    it('lists what was requested, live, by status and operation, with what was said and what to do', async () => {
      const key = await kit.gateway.newKey('pro');
      await kit.gateway.call('/pets/987654', { key });
      await kit.gateway.call('/pets', { key });
      const tab = await kit.open('/console', { key });
      const { page } = tab;
      const section = page.getByRole('region', { name: 'Requests' });
      const rows = section.locator('li:visible');
      await tab.see('404 NOT_FOUND', '.requests summary');
      await section.getByLabel('Status').selectOption('4xx');
      await expect.poll(() => rows.count()).toBe(1);
      // By the keyboard alone.
      await rows.first().locator('summary').focus();
      await page.keyboard.press('Enter');
      await tab.see('There is no pet 987654.', '.requests dd');
      await tab.see('a list shows those that exist', '.requests dd');
      await expectAccessible(tab, 'console-requests');
      await section.getByLabel('Status').selectOption('');
      await section.getByLabel('Operation').fill('createCategory');
      await page.keyboard.press('Enter');
      await tab.see('There are no such requests', 'section[aria-label="Requests"] .note');
      await section.getByRole('button', { name: 'Follow' }).click();
      await kit.gateway.call('/categories', { method: 'POST', body: {}, key });
      await tab.see('400 VALIDATION_FAILED', '.requests summary');
      await section.getByRole('button', { name: 'Pause' }).click();
      // Another key's are not there.
      await tab.useKey(await kit.gateway.newKey('free'));
      await tab.see(/\d+ requests?\./, 'section[aria-label="Requests"] [role="status"]');
      expect(await section.innerText()).not.toContain('VALIDATION_FAILED');
      await tab.leave('console-requests', REFUSED);
    });

    it('makes, changes, rotates and revokes keys, whose secrets are shown once', async () => {
      const key = await kit.gateway.newKey('pro');
      const tab = await kit.open('/console', { key });
      const { page } = tab;
      const section = page.getByRole('region', { name: 'Keys' });
      const click = (name: string) => section.getByRole('button', { name, exact: true }).click();
      const card = section.locator('.key');
      await tab.see('This key has made no keys.');
      await section.getByLabel('Name').fill('Till 7');
      await section.getByLabel('Scopes').fill('pets:read nonsense:read');
      await click('Create');
      await tab.see(/scopes/, 'section[aria-label="Keys"] form [role="status"]');
      await section.getByLabel('Scopes').fill('pets:read, requests:read');
      await section.getByLabel('Networks').fill('127.0.0.0/8');
      await click('Create');
      await tab.see('Created.', 'section[aria-label="Keys"] [role="status"]');
      const secretOf = async () => (await card.locator('.secret code').innerText()).trim();
      const first = await secretOf();
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await card.getByRole('button', { name: 'Copy' }).press('Enter');
      await card.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(first);
      const call = (secret: string, path: string) => kit.gateway.call(path, { key: secret });
      expect((await call(first, '/pets')).status).toBe(200);
      expect((await call(first, '/categories')).status).toBe(403);
      await expectAccessible(tab, 'console-keys');
      await click('Change');
      const edited = card.getByLabel('Scopes');
      expect(await edited.inputValue()).toBe('pets:read requests:read');
      await edited.fill('categories:read');
      await card.getByLabel('Expires').fill('2090-01-31T12:00');
      await click('Save');
      await tab.see('Changed: in force', '.key [role="status"]');
      await expect.poll(async () => (await call(first, '/categories')).status, { timeout: 8_000 }).toBe(200);
      expect((await kit.gateway.call('/keys', { key })).json[0]).toMatchObject({
        name: 'Till 7',
        scopes: ['categories:read'],
        allow: ['127.0.0.0/8'],
        expiresAt: expect.stringMatching(/^2090-01-31/),
      });
      await click('Rotate');
      await expect.poll(secretOf).not.toBe(first);
      const second = await secretOf();
      expect((await call(second, '/categories')).status).toBe(200);
      // Another visit does not see the secret.
      await page.reload();
      await tab.see('Till 7', '.key h3');
      expect(await page.locator('main').innerText()).not.toContain('petstore_');
      await section.getByRole('button', { name: 'Revoke' }).focus();
      await page.keyboard.press('Enter');
      await click('Revoke it for good');
      await tab.see('This key has made no keys.');
      await expect.poll(async () => (await call(second, '/categories')).status, { timeout: 8_000 }).toBe(401);
      await tab.leave('console-keys', REFUSED);
    });

    it('rotates the key itself, and reads of its own requests leave no entries', async () => {
      const key = await kit.gateway.restrictedKey({ scopes: ['*:read'] });
      const tab = await kit.open('/console', { key });
      const { page } = tab;
      const section = page.getByRole('region', { name: 'Key', exact: true });
      await section.getByRole('button', { name: 'Rotate' }).press('Enter');
      await section.getByRole('button', { name: 'Replace this key within 24 hours' }).press('Enter');
      await tab.see('Rotated: this one works for 24 hours more.', '#sections [role="status"]');
      const secret = (await section.locator('.secret code').innerText()).trim();
      await expectAccessible(tab, 'console-rotated');
      for (const each of [key, secret])
        expect((await kit.gateway.call('/pets', { key: each })).status).toBe(200);
      expect((await kit.gateway.call('/key', { key: secret })).json.scopes).toEqual(['*:read']);
      await tab.see('Keys are not shown. The API key lacks the scope keys:write.', '#sections .note');
      await tab.see('This key has no webhooks.', '#sections .note');
      // The page asks for the budget again and again.
      await kit.gateway.graphql('{ rateLimit { cost } }', {}, { key: secret });
      const body = { query: '{ pets { totalCount } }' };
      expect((await kit.gateway.call('/graphql/cost', { method: 'POST', body, key: secret })).status).toBe(
        200,
      );
      const seen = (await kit.gateway.call('/requests?limit=100', { key: secret })).json;
      const paths = seen.map(({ path }: { path: string }) => path);
      expect(paths).toContain('/key/rotate');
      for (const path of ['/requests', '/graphql/cost']) expect(paths).not.toContain(path);
      await page.reload();
      await tab.see('*:read', '#sections dd');
      expect(await page.locator('main').innerText()).not.toContain('petstore_');
      // Nothing was refused: what the key lacks the scope for isn't asked for.
      await tab.leave('console-rotated');
    });

    it('shows a key that is bound to documents, whose budget the headers tell', async () => {
      const key = await kit.gateway.newKey('free', undefined, { documents: 'web' });
      const tab = await kit.open('/console', { key });
      await tab.see(/\d+ of 60 left/, '.gauge');
      await tab.see('web', '#sections dd');
      await tab.leave('console-bound', REFUSED);
    });

    it('sends no requests while the budget is exhausted, which would count towards a ban, and resumes afterwards', async () => {
      const key = await kit.gateway.newKey('enterprise', { perMinute: 8, perDay: 100 });
      for (let i = 0; i < 11; i++) await kit.gateway.call('/pets', { key });
      const tab = await kit.open('/console', { key });
      await tab.see('Nothing is left.', 'section[aria-label="Budget"] [role="status"]');
      await tab.see(
        /Usage is not shown\. Nothing is left of the budget for \d+ s\./,
        'section[aria-label="Usage"] .note',
      );
      const { page } = tab;
      for (const name of ['Refresh', 'Listen']) await page.getByRole('button', { name }).first().click();
      await tab.see(/Nothing is left of the budget for/, '.controls [role="status"]');
      const { id } = (await kit.gateway.store.apiKeys()).at(-1)!;
      // Two of the three refusals before the page was opened are strikes, and there was no other.
      expect((await kit.gateway.store.usage([id]))[0]!.strikes).toHaveLength(2);
      const again = page.waitForRequest('**/usage?*', { timeout: 15_000 });
      await page.clock.setSystemTime(Date.now() + 61_000);
      await again;
      await tab.leave('console-exhausted', REFUSED);
    });

    it('says how long a ban lasts', async () => {
      const key = await kit.gateway.newKey('enterprise', { perMinute: 1, perDay: 100 });
      for (let i = 0; i < 23; i++) await kit.gateway.call('/pets', { key });
      const tab = await kit.open('/console', { key });
      await tab.see(/Banned for \d+ s more/, 'section[aria-label="Budget"] [role="status"]');
      await tab.leave('console-banned', REFUSED);
    });
  },
  { WEBHOOK_ALLOW: '127.0.0.0/8' },
);

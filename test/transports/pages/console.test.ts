import { expect, it, onTestFinished } from 'vitest';
import { expectAccessible, expectSkipLink, REFUSED, withBrowser } from '../../kit/browser.ts';
import { Receiver } from '../../kit/receiver.ts';

withBrowser(
  'the console',
  (kit) => {
    it('shows plan, budget and live events of any key, with gauges that move, and is accessible', async () => {
      const key = await kit.gateway.newKey('free');
      const tab = await kit.open('/console');
      const { page } = tab;
      await tab.see('Enter an API key above', '#hint');
      await expectSkipLink(tab);
      expect(await page.locator('#sections').isVisible()).toBe(false);
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await tab.see('free', '#key-facts dd');
      const left = () => page.locator('.gauge [role="meter"]').first().getAttribute('aria-valuenow');
      // Each section has made its requests.
      await tab.see('(rest)', '#usage');
      await tab.see('This key has no webhooks.', '#webhooks');
      const before = Number(await left());
      await page.getByRole('button', { name: 'Listen' }).click();
      await tab.see('Listening …', '#events [role="status"]');
      await expect.poll(left).toBe(String(before - 1));
      const big = '9007199254740993';
      await kit.gateway.call('/store/orders', { method: 'POST', body: `{"id":${big}}` });
      await kit.gateway.call('/categories', { method: 'POST', body: { name: 'Fish' } });
      const items = page.locator('.events li:visible');
      await expect.poll(() => items.count()).toBe(2);
      expect(await items.first().innerText()).toContain('category.created');
      await page.getByLabel('Type', { exact: true }).selectOption('order.created');
      await expect.poll(() => items.allInnerTexts()).toEqual([expect.stringContaining(`"id":${big}`)]);
      await page.getByLabel('Contains').fill('nothing like this');
      await expect.poll(() => items.count()).toBe(0);
      await page.getByLabel('Contains').fill('');
      await expectAccessible(tab, 'console');
      await page.getByRole('button', { name: 'Stop' }).click();
      await tab.see('Stopped after 2 events.', '#events [role="status"]');
      // Another key gets nothing of this one.
      await page.getByLabel('API key').fill('');
      await page.getByRole('button', { name: 'Use', exact: true }).click();
      await page.locator('#sections').waitFor({ state: 'hidden' });
      await tab.leave('console', REFUSED);
    }, 90_000);

    it('shows scopes and expiry, and usage by day and by operation as charts', async () => {
      const tab = await kit.open('/console', { key: kit.gateway.key });
      await tab.see('never', '#key-facts dd');
      await tab.see('all', '#key-facts dd');
      const operations = /By operation on \d{4}-\d\d-\d\d[\s\S]*createOrder \(rest\)/;
      await tab.see(operations, '#usage');
      await tab.page.getByRole('button', { name: 'Refresh' }).first().click();
      await tab.see(operations, '#usage');
      const today = new Date().toISOString().slice(0, 10);
      expect(await tab.page.locator('#usage .columns li').first().innerText()).toContain(today.slice(5));
      await expectAccessible(tab, 'console-usage');
      await tab.leave('console-usage', REFUSED);
    }, 90_000);

    it('shows webhooks with their last attempts, and tests, pauses and replays them', async () => {
      const receiver = await Receiver.start();
      onTestFinished(() => receiver.close());
      const key = await kit.gateway.newKey('pro');
      const { url } = receiver;
      const created = await kit.gateway.call('/webhooks', { method: 'POST', key, body: { url } });
      expect(created.status, created.text).toBe(201);
      const tab = await kit.open('/console', { key });
      const { page } = tab;
      await tab.see(url, '#webhooks h3');
      await tab.see('Delivering', '#webhooks dd');
      await page.getByRole('button', { name: 'Test', exact: true }).click();
      await tab.see(/The test was answered 204 after \d+ ms/, '#webhooks [role="status"]');
      await tab.see('was answered 204', '#webhooks td');
      expect(receiver.received.map(({ event }) => event.type)).toContain('webhook.test');
      await page.getByRole('button', { name: 'Pause' }).click();
      await tab.see('Paused', '#webhooks dd');
      await page.getByRole('button', { name: 'Resume' }).click();
      await tab.see('Delivering', '#webhooks dd');
      // To another event than the one it has reached.
      await kit.gateway.call('/categories', { method: 'POST', body: { name: 'Birds' } });
      const { json } = await kit.gateway.call('/events?limit=100');
      const place = json.at(-1).id;
      expect(place).not.toBe(created.json.after);
      await page.getByLabel('Replay after event').fill(place);
      await page.getByRole('button', { name: 'Replay', exact: true }).click();
      await tab.see('Replaying from there.', '#webhooks [role="status"]');
      expect((await kit.gateway.call(`/webhooks/${created.json.id}`, { key })).json.after).toBe(place);
      await page.getByLabel('Replay after event').fill('no event');
      await page.getByRole('button', { name: 'Replay', exact: true }).click();
      await tab.see(/invalid|must/, '#webhooks [role="status"]');
      await expectAccessible(tab, 'console-webhooks');
      await tab.leave('console-webhooks', REFUSED);
    }, 90_000);

    it('sends no requests while the budget is exhausted, which would count towards a ban, and resumes afterwards', async () => {
      const key = await kit.gateway.newKey('enterprise', { perMinute: 8, perDay: 100 });
      for (let i = 0; i < 11; i++) await kit.gateway.call('/pets', { key });
      const tab = await kit.open('/console', { key });
      await tab.see('Nothing is left. A ban is 18 refusals away', '#budget [role="status"]');
      await tab.see(/Usage is not shown\. Nothing is left of the budget for \d+ s\./, '#usage .note');
      const { page } = tab;
      for (const name of ['Refresh', 'Listen']) await page.getByRole('button', { name }).first().click();
      await tab.see(/Nothing is left of the budget for/, '#events [role="status"]');
      const { id } = (await kit.gateway.store.apiKeys()).at(-1)!;
      // Two of the three refusals before the page was opened are strikes, and there was no other.
      expect((await kit.gateway.store.usage([id]))[0]!.strikes).toHaveLength(2);
      await page.clock.setSystemTime(Date.now() + 61_000);
      // The server's own refusal, whose minute goes on.
      await tab.see(/Usage is not shown\. The plan allows 8 requests/, '#usage .note');
      await tab.leave('console-exhausted', REFUSED);
    }, 60_000);

    it('says how long a ban lasts', async () => {
      const key = await kit.gateway.newKey('enterprise', { perMinute: 1, perDay: 100 });
      for (let i = 0; i < 23; i++) await kit.gateway.call('/pets', { key });
      const tab = await kit.open('/console', { key });
      await tab.see(/Banned for \d+ s more/, '#budget [role="status"]');
      await tab.leave('console-banned', REFUSED);
    }, 60_000);
  },
  { WEBHOOK_ALLOW: '127.0.0.0/8' },
);

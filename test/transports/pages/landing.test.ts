import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { expectAccessible, expectSkipLink, withBrowser } from '../../kit/browser.ts';

withBrowser('the landing page by the link of a development server', (kit) => {
  it('leads to a first call, a nested query, live events and both explorers without entering a key, and takes it out of the address', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('business');
    const sent: string[] = [];
    const tab = await kit.open('/docs');
    const { page } = tab;
    page.on('request', (request) => sent.push(request.url()));
    await page.goto(`${gateway.url}/#key=${key}`);
    expect(page.url()).toBe(`${gateway.url}/`);
    expect(await page.content()).not.toContain(key);
    await page.goBack();
    expect(page.url()).toContain(`${gateway.url}/docs`);
    await page.goForward();
    expect(page.url()).toBe(`${gateway.url}/`);
    expect(sent.filter((url) => url.includes(key))).toEqual([]);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.see('Business: ', '#key-status');
    await page.getByRole('button', { name: 'Copy the command' }).click();
    await tab.see('Copied', '[data-copy="first-curl"]');
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const { stdout } = await promisify(execFile)('bash', ['-c', command]);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(await page.locator('#first-answer').innerText()));

    // What is shown before anything runs is what the sample data answers.
    const promised = await page.locator('#answer').innerText();
    await page.getByRole('button', { name: 'Run it' }).click();
    await tab.see(/Answered in \d+ ms/, '#ran');
    const { data } = JSON.parse(await page.locator('#answer').innerText());
    data.categories.nodes.pop();
    expect(data).toEqual(JSON.parse(promised.replace(/,\s*…/, '')));

    await page.getByRole('button', { name: 'Listen' }).click();
    await tab.see('Listening …', '#live [role="status"]');
    const left = page.locator('#gauges [role="meter"]').first();
    await expect.poll(() => left.getAttribute('aria-valuetext')).toBe('997 of 1,000 left');
    await promisify(execFile)('bash', [
      '-c',
      command
        .replace('/pets?limit=2', '/store/orders')
        .replace('curl', `curl -X POST -d '{}' -H 'Content-Type: application/json'`),
    ]);
    await tab.see('Listening: 1 event', '#live [role="status"]');
    await tab.picture('landing-live');

    const order = page.getByRole('link', { name: 'Order a pet in the REST docs' });
    const toOrder = await order.getAttribute('href');
    expect(toOrder).toMatch(/^\/docs#tag\/.*createOrder/);
    await page.getByRole('link', { name: 'Open GraphiQL' }).click();
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.run();
    await tab.see('Loyal, loud and always hungry', '.result-window');

    if (process.env.AT_LENGTH === '1') {
      await page.goto(gateway.url + toOrder);
      const create = page.locator('section[id$="/createOrder"]');
      await create.getByRole('button', { name: 'Test Request' }).click({ timeout: 15_000 });
      await page.getByRole('button', { name: /^Send/ }).first().click({ timeout: 15_000 });
      await tab.see('"complete": false', '[aria-label="Response body"]');
    }
    await tab.leave('landing-tried');
  }, 90_000);
});

withBrowser('the landing page without a development key', (kit) => {
  it('is accessible, and shows the budget of an example until a key is entered, which the copied command has and the page has not', async () => {
    const tab = await kit.open('/');
    const { page } = tab;
    await tab.see('Enter an API key', '#key-status');
    await expectSkipLink(tab);
    await expectAccessible(tab, 'landing');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const left = page.locator('#gauges [role="meter"]').first();
    await page.getByRole('button', { name: 'Listen' }).click();
    await tab.see('Enter an API key above first.', '#live [role="status"]');
    await expect.poll(() => left.getAttribute('aria-valuetext')).toBe('58 of 60 left');
    await tab.see('An example', '#gauges-note');
    const key = await kit.gateway.newKey('pro');
    await page.locator('#key').fill(key);
    await page.keyboard.press('Enter');
    await expect.poll(() => left.getAttribute('aria-valuetext')).toBe('300 of 300 left');
    expect(await page.locator('#gauges-note').innerText()).toBe('');
    await page.getByRole('button', { name: 'Copy the command' }).click();
    await tab.see('Copied', '[data-copy="first-curl"]');
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const { stdout } = await promisify(execFile)('bash', ['-c', command]);
    expect(JSON.parse(stdout)).toHaveLength(2);
    expect(await page.content()).not.toContain(key);
    await tab.leave('landing-with-key');
  }, 60_000);
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { expectAccessible, expectSkipLink, REFUSED, withBrowser } from '../../kit/browser.ts';

withBrowser('the landing page', (kit) => {
  it('is accessible, and plays the sample answer until a key is entered', async () => {
    const tab = await kit.open('/');
    await expectSkipLink(tab);
    await tab.see('7 requests, 7 units', '#rest-text');
    await expectAccessible(tab, 'landing');
    await tab.page.getByRole('button', { name: 'Run it' }).click();
    await tab.see('This is the sample data. Enter an API key above to run it.', '#ran');
    await tab.useKey(await kit.gateway.newKey('pro'));
    await tab.see('Pro: 300 of 300', '#key-status');
    await tab.leave('landing-with-key');
  });

  it('leads by the link of a development server to a first call, a nested query and GraphiQL without entering a key, and takes it out of the address', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('business');
    const sent: string[] = [];
    const tab = await kit.open('/console');
    const { page } = tab;
    page.on('request', (request) => sent.push(request.url()));
    await page.goto(`${gateway.url}/#key=${key}`);
    await page.reload();
    expect(page.url()).toBe(`${gateway.url}/`);
    expect(await page.content()).not.toContain(key);
    expect(sent.filter((url) => url.includes(key))).toEqual([]);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.see('Business: ', '#key-status');
    await page.getByRole('button', { name: 'Copy the command' }).click();
    await tab.see('Copied', '[data-copy="first-curl"]');
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const { stdout } = await promisify(execFile)('bash', ['-c', command]);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(await page.locator('#first-answer').innerText()));

    // What is shown before anything runs is what the sample data answers.
    const answer = async () => JSON.parse((await page.locator('#answer').textContent())!);
    const promised = await answer();
    await page.getByRole('button', { name: 'Run it' }).click();
    await tab.see(/Answered in \d+ ms: [\d,]+ units left this minute/, '#ran');
    await tab.see('7 requests, 7 units', '#rest-text');
    await tab.see('1 request, 1 unit', '#graphql-text');
    expect(await answer()).toEqual(promised);
    await tab.picture('landing-tried');

    // Each way is one key away, and does what it says.
    const open = async (name: string) => {
      await page.locator('summary', { hasText: name }).press('Enter');
      await page.getByRole('button', { name: `Copy the request: ${name}` }).click();
      expect(await page.locator('.demo details[open]').count()).toBe(1);
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const byCurl = await promisify(execFile)('bash', ['-c', await open('curl')]);
    expect(JSON.parse(byCurl.stdout)).toEqual(promised);
    const [mcpLine, body] = (await open('An agent, over MCP')).split('\n\n');
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const byAgent = await gateway.call('/mcp', { method: 'POST', key, headers, body: body! });
    expect(mcpLine).toBe(`POST ${gateway.url}/mcp`);
    expect(byAgent.json.result.structuredContent).toEqual(promised);
    const [list, ...others] = (await open('REST, in 7 requests')).split('\n').map((line) => line.slice(4));
    const categories = (await gateway.call(list!, { key })).json as { id: number; name: string }[];
    const rest = await Promise.all(others.map(async (path) => (await gateway.call(path, { key })).json));
    const petsOf = rest.slice(0, 2) as { id: number; name: string; status: string }[][];
    const items = rest.slice(2) as { petId: number; quantity: number }[];
    const stockOf = (id: number) => items.find(({ petId }) => petId === id)!.quantity;
    expect(
      categories.map((category, n) => ({
        name: category.name,
        pets: {
          nodes: petsOf[n]!.map(({ id, ...pet }) => ({
            name: pet.name,
            status: pet.status,
            inventory: { quantity: stockOf(id) },
          })),
        },
      })),
    ).toEqual(promised.data.categories.nodes);
    await expectAccessible(tab, 'landing-rest');

    await page.getByRole('link', { name: 'Open GraphiQL' }).click();
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.leave('landing-tried');
  });
});

withBrowser('an address where nothing is', (kit) => {
  it('says so to somebody who reads, with ways on, and to programs as an Error', async () => {
    const tab = await kit.open('/petz/<b>1</b>');
    await tab.see('404 Not Found', 'h1');
    await expectAccessible(tab, 'error');
    await tab.page.getByRole('link', { name: 'guides', exact: true }).click();
    await tab.see('Tasks', 'main h2');
    await tab.leave('error', REFUSED);
    const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const page = await kit.gateway.call('/petz/<b>1</b>', { headers: navigation });
    expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(page.text).toMatch(/There is no .petz.*Did you mean .pets/);
    expect(page.text).not.toContain('<b>');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.headers['x-ratelimit-limit']).toBeDefined();
    const program = await kit.gateway.call('/petz', { headers: { accept: 'text/html, */*;q=0.1' } });
    expect([program.status, program.json.code]).toEqual([404, 'NOT_FOUND']);
  });
});

withBrowser('the header', (kit) => {
  it('checks the budget every 3 seconds, but a refused key only once', async () => {
    const tab = await kit.open('/');
    const { page } = tab;
    await page.clock.install();
    await page.reload();
    let checks = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/graphql/cost')) checks++;
    });
    await tab.useKey(`petstore_${'x'.repeat(43)}`);
    await tab.see(/API key/, '#key-status[data-kind=refused]');
    const before = checks;
    await page.clock.runFor(30_000);
    expect(checks).toBe(before);
    await tab.useKey(await kit.gateway.newKey('pro'));
    await tab.see('Pro: 300 of 300', '#key-status');
    const accepted = checks;
    await page.clock.runFor(7_000);
    // Time also passes by itself.
    await expect.poll(() => checks).toBeGreaterThanOrEqual(accepted + 2);
    await tab.leave('header', REFUSED);
  });
});

withBrowser('the guides', (kit) => {
  it('are accessible, are found by any of their words, and their samples can be copied', async () => {
    const tab = await kit.open('/guides/interface');
    const { page } = tab;
    await expectSkipLink(tab);
    const shown = () => page.locator('.contents li li:visible').count();
    const own = await shown();
    expect(own).toBeGreaterThan(3);
    const field = page.getByLabel('Search the guides');
    for (const [words, heading] of [
      ['webhooks receiver', 'What a receiver does'],
      ['if-match 412', 'Safe retries and caching'],
      ['CSV', 'Bring your data in'],
      ['caddyfile', 'Growing'],
    ] as const) {
      await field.fill(words);
      await tab.see(heading, '.contents a');
      await tab.see(new RegExp(words.split(' ')[0]!, 'i'), '.contents small');
    }
    await tab.see(/sections? found/, '#found');
    await expectAccessible(tab, 'guides-found');
    await field.fill('');
    await expect.poll(shown).toBe(own);
    await page.goto(`${kit.gateway.url}/guides/tasks`);
    await tab.see(/^await$/, '.code .hljs-keyword');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy the sample' }).first().click();
    await tab.see('Copied', '.code button');
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('fetch(');
    await expectAccessible(tab, 'guides');
    await tab.leave('guides');
  });
});

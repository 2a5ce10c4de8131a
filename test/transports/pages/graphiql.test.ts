import { expect, it, onTestFinished } from 'vitest';
import { schema } from '../../../src/execution/schema.ts';
import { openTab, withBrowser } from '../../kit/browser.ts';
import { TestGateway } from '../../kit/gateway.ts';

/** The browser's own message about a 4xx response. */
const REFUSED = /Failed to load resource: the server responded with a status of 4\d\d/;

withBrowser('GraphiQL', (kit) => {
  it('checks the key, uses it in all tabs, and keeps it for the session only', async () => {
    const tab = await kit.open('/graphql');
    const { page } = tab;
    await tab.see('Enter an API key to send requests.', '#key-status');
    await page.getByLabel('API key').fill(`petstore_${'x'.repeat(43)}`);
    await page.getByRole('button', { name: 'Use', exact: true }).click();
    await tab.see('Unknown API key.', '#key-status');
    await page.getByLabel('API key').fill('no key at all');
    await page.keyboard.press('Enter');
    await tab.see('keys are ASCII without spaces', '#key-status');
    await page.getByLabel('API key').fill(kit.gateway.key);
    await page.keyboard.press('Enter');
    await tab.see('Enterprise: 1,000,000 of 1,000,000 left this minute', '#key-status');

    await tab.run();
    await tab.see('Loyal, loud and always hungry', '.result-window');
    await page.getByRole('button', { name: 'New tab' }).click();
    await tab.write('{ pet(id: 1) { name } }');
    await tab.run();
    await tab.see('"Rex"', '.result-window');

    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
    expect(kept).not.toContain(kit.gateway.key);
    expect(page.url()).toBe(`${kit.gateway.url}/graphql`);
    // Other pages of the same session share the key; another session does not.
    await tab.goto('/docs');
    await tab.see('left this minute', '#key-status');
    const other = await kit.open('/graphql');
    await other.see('Enter an API key', '#key-status');
    await other.leave('graphiql-without-key');
    await tab.leave('graphiql-key', REFUSED);
  }, 90_000);

  it('shows the documentation of the schema and completes names before a key is entered', async () => {
    const tab = await kit.open('/graphql');
    const { page } = tab;
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click({ timeout: 30_000 });
    await page.locator('.graphiql-doc-explorer-content').getByText('Query', { exact: true }).click();
    await tab.see('Root type of all queries.', '.graphiql-doc-explorer-content');
    await tab.write('{ ');
    await page.keyboard.type('inventoryI');
    await tab.see('inventoryItem', '.suggest-widget .monaco-list-row');
    await tab.leave('graphiql-docs');
  }, 60_000);

  it('shows the cost while typing, and requests it only when the operation changes', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    const { page } = tab;
    let costRequests = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/graphql/cost')) costRequests++;
    });
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.write('{ pets(first: 50) { nodes { orders(first: 10) { nodes { id } } } } }');
    await tab.see('Costs 6 units', '.cost-strip');
    const before = costRequests;
    // Cursor movements, formatting and comments do not change the operation.
    await page.keyboard.press('Home');
    await tab.write('{\n  pets(first: 50) { nodes { orders(first: 10) { nodes { id } } } }\n  # large\n}');
    await page.keyboard.press('ArrowUp');
    await page.waitForTimeout(1_000);
    expect(costRequests).toBe(before);
    // The cost of invalid operations is not requested.
    await tab.write('{ pets(first: 50) { nodes { nothing } } }');
    await tab.see('Cannot query field "nothing"', '.cost-strip');
    await tab.write('{ pets(first: 50) {');
    await tab.see('The operation is incomplete.', '.cost-strip');
    expect(costRequests).toBe(before);

    await tab.write('{ pets(first: 50) { nodes { orders(first: 10) { nodes { id } } } } }');
    await tab.see('Costs 6 units', '.cost-strip');
    await tab.run();
    await tab.see('The last run cost 6 units', '.cost-strip');
    await tab.see(/Minute: 999,99\d of 1,000,000 left, resets in \d+ s/, '.cost-strip');
    expect(await tab.answer.textContent()).not.toContain('rateLimit');
    await tab.leave('graphiql-cost');
  }, 60_000);

  it('shows the cost of the operation under the cursor', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    await tab.write(
      'query A { pet(id: 1) { id } }\nquery B { pets(first: 100) { nodes { orders(first: 1) { nodes { id } } } } }',
    );
    await tab.see('Costs 2 units', '.cost-strip');
    await tab.page.keyboard.press('ArrowUp');
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.leave('graphiql-cursor');
  }, 60_000);

  it('lists the most expensive fields if the cost exceeds the maximum', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    await tab.write(
      '{ categories(first: 100) { nodes { id pets(first: 100) { nodes { id } } } } orders { nodes { id } } }',
    );
    await tab.see('Exceeds the maximum cost of 50 units', '.cost-strip');
    await tab.page.getByRole('button', { name: 'Show Cost and REST' }).click();
    const rows = tab.page.locator('.expensive tbody tr');
    await rows.first().waitFor();
    expect(await rows.allInnerTexts()).toEqual([
      'categories › pets\t10,000',
      'categories\t100',
      'orders\t20',
    ]);
    await tab.leave('graphiql-too-expensive', REFUSED);
  }, 60_000);

  it('runs every example but the subscription without errors, in one tab', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    const { page } = tab;
    const expected = {
      'Nested pets': '"categories"',
      Filters: '"orders"',
      Pagination: '"inventory"',
      'A mutation': '"createOrder"',
      'One pet': '"pet"',
      'Rate limit': '"rateLimit"',
    };
    const examples = page.locator('.examples button');
    await examples.first().waitFor({ timeout: 30_000 });
    // A test of its own runs the subscription.
    const others = schema.getSubscriptionType() ? ['A subscription'] : [];
    await expect
      .poll(() => examples.allInnerTexts(), { timeout: 15_000 })
      .toEqual([...Object.keys(expected), ...others]);
    for (const [title, text] of Object.entries(expected)) {
      await page.getByRole('button', { name: title, exact: true }).click();
      await tab.see(/^Costs/, '.cost-strip .quote-known');
      await tab.run();
      await tab.see(text, '.result-window');
      expect(await tab.answer.textContent(), title).not.toContain('"errors"');
    }
    expect(await page.locator('.graphiql-tab').count()).toBe(1);
    await tab.leave('graphiql-examples');
  }, 90_000);

  it('opens examples beside an edited operation, and restores tabs and history after a reload', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    const { page } = tab;
    await tab.write('query Mine { pet(id: 2) { name } }');
    await tab.run();
    await tab.see('"pet"', '.result-window');
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    const titles = () => page.locator('.graphiql-tab-button').allInnerTexts();
    await expect.poll(titles).toEqual(['Mine', 'OpenOrders']);
    // Opening the example again must not add a tab.
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    // GraphiQL saves tabs and history with a delay.
    for (const [name, text] of [
      ['tabState', '"Mine"'],
      ['tabState', '"OpenOrders"'],
      ['queries', 'query Mine'],
    ]) {
      const stored = () => page.evaluate((key) => localStorage.getItem(key), `graphiql:${name}`);
      await expect.poll(stored, { timeout: 15_000 }).toContain(text);
    }
    for (let visit = 0; visit < 2; visit++) {
      await page.reload();
      await expect.poll(titles, { timeout: 15_000 }).toEqual(['Mine', 'OpenOrders']);
      await expect.poll(() => tab.editorText(), { timeout: 15_000 }).toContain('query OpenOrders');
      await page.waitForTimeout(700);
    }
    await page.getByRole('button', { name: 'Show History' }).click();
    await page.getByRole('button', { name: 'Hide History' }).waitFor();
    await tab.see('Mine', '.graphiql-history');
    await tab.leave('graphiql-returned');
  }, 90_000);

  it('copies the operation as curl and fetch, without the key', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    const { page } = tab;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.write(`query Own($id: ID!) { pet(id: $id) { name } }`);
    await tab.write('{ "id": 9007199254740993 }', '.graphiql-editor-tool');
    await tab.see('Costs 1 unit', '.cost-strip');
    const copied = async (button: string) => {
      await page.getByRole('button', { name: button }).click();
      await tab.see('Copied', '.said');
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const curl = await copied('Copy as curl');
    expect(curl).toContain(`curl -X POST '${kit.gateway.url}/graphql'`);
    expect(curl).toContain('-H "X-API-Key: $KEY"');
    expect(curl).toContain('"variables":{"id":9007199254740993}');
    const fetched = await copied('Copy as fetch');
    expect(fetched).toContain('"X-API-Key": "$KEY"');
    for (const text of [curl, fetched]) expect(text).not.toContain(kit.gateway.key);
    await tab.leave('graphiql-copied');
  }, 60_000);

  it('sends an integer variable beyond 2^53 exactly', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    await tab.write('mutation Exact($id: ID!) { createOrder(input: { id: $id }) { id } }');
    await tab.write('{ "id": 9007199254740993 } // beyond 2^53', '.graphiql-editor-tool');
    await tab.run();
    await tab.see('"9007199254740993"', '.result-window');
    await tab.leave('graphiql-exact');
  }, 60_000);

  it('shows the equivalent REST call and what it omits', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    const { page } = tab;
    await page.getByRole('button', { name: 'Show Cost and REST' }).click({ timeout: 30_000 });
    const equivalents = {
      '{ pet(id: 7) { name } }': 'GET /pets/7',
      '{ pets(first: 5, after: "3", filter: { status: [available, sold], categoryId: 2 }) { nodes { id } } }':
        'GET /pets?status=available&status=sold&categoryId=2&limit=5&after=3',
      '{ category(id: 1) { pets(first: 2) { nodes { id } } } }': 'GET /categories/1/pets?limit=2',
      '{ category(id: 1) { name } }': 'GET /categories/1',
      'mutation { updatePet(id: 1, input: { status: sold }) { id } }': 'PATCH /pets/1\n\n{"status":"sold"}',
      'mutation { deleteOrder(id: 9) }': 'DELETE /store/orders/9',
      'mutation { createCategory(input: { name: "Fish" }) { id } }': 'POST /categories\n\n{"name":"Fish"}',
    };
    for (const [query, call] of Object.entries(equivalents)) {
      await tab.write(query);
      await expect.poll(() => page.locator('.rest-equivalent pre').innerText({ timeout: 5_000 })).toBe(call);
    }
    await tab.write('{ pet(id: 7) { category { name } } }');
    await tab.see('It omits nested data (category)', '.rest-equivalent p');
    await tab.write('{ pets(last: 5) { nodes { id } } }');
    await tab.see('It omits the argument last', '.rest-equivalent p');
    await tab.write('{ a: pet(id: 7) { name } b: pet(id: 8) { name } }');
    await tab.see('No single REST call is equivalent.', '.panel p');
    await tab.leave('graphiql-rest-equivalent');
  }, 90_000);

  it('opens the operation named in the URL and removes it from the URL', async () => {
    const tab = await kit.open('/graphql#operation=updateOrder', { key: kit.gateway.key });
    await expect.poll(() => tab.editorText(), { timeout: 15_000 }).toContain('mutation updateOrder(');
    expect(await tab.page.locator('.graphiql-editor-tool').innerText()).toContain('"complete"');
    expect(tab.page.url()).toBe(`${kit.gateway.url}/graphql`);
    await tab.leave('graphiql-opened');
  }, 60_000);

  it('explains an exhausted budget and an unreachable server', async () => {
    const key = await kit.gateway.newKey('enterprise', { perMinute: 2, perDay: 100 });
    const tab = await kit.open('/graphql', { key });
    const { page } = tab;
    await tab.see('Minute: 2 of 2 left', '.cost-strip');
    for (const left of [1, 0]) {
      await tab.run();
      await tab.see(`Minute: ${left} of 2 left`, '.cost-strip');
    }
    await tab.run();
    await tab.see('RATE_LIMITED', '.result-window');
    await tab.see(/Minute: 0 of 2 left, resets in \d+ s/, '.used-up');
    await tab.picture('graphiql-used-up');

    await page.route(/\/graphql(\/cost)?$/, (route) => route.abort());
    await tab.run();
    // The result editor wraps lines, so only a single word can be matched.
    await tab.see('reached', '.result-window');
    await tab.write('{ pet(id: 4) { id } }');
    await tab.see('The server cannot be reached.', '.cost-strip');
    expect(await tab.answer.innerText()).not.toContain('stack');
    await tab.leave('graphiql-away', /4\d\d|ERR_FAILED/);
  }, 90_000);

  it.runIf(schema.getSubscriptionType())(
    'streams a subscription until it is stopped',
    async () => {
      const tab = await kit.open('/graphql', { key: kit.gateway.key });
      const { page } = tab;
      await tab.see('Costs 1 unit', '.cost-strip');
      await page.getByRole('button', { name: 'A subscription', exact: true }).click({ timeout: 30_000 });
      // The previous operation costs the same, so only the editor shows that the example is loaded.
      await tab.see('subscription', '.graphiql-query-editor .view-lines');
      await tab.run();
      const stop = page.getByRole('button', { name: 'Stop query' });
      await stop.waitFor();
      for (const id of ['9007199254740995', '9007199254740997']) {
        // Events before the stream opens are not sent, so the order is created repeatedly.
        await expect
          .poll(
            async () => {
              await kit.gateway.call(`/store/orders/${id}`, { method: 'DELETE' });
              await kit.gateway.call('/store/orders', { method: 'POST', body: `{"id":${id}}` });
              await page.waitForTimeout(500);
              return tab.answer.innerText();
            },
            { timeout: 15_000 },
          )
          .toContain(id);
      }
      await stop.click();
      await page.getByRole('button', { name: 'Execute query' }).waitFor();
      expect(await tab.answer.innerText()).not.toContain('errors');
      await tab.leave('graphiql-subscription');
    },
    60_000,
  );

  it('runs an operation and opens an example on a phone, without horizontal scrolling', async () => {
    const tab = await kit.open('/graphql', { width: 400, scheme: 'dark', key: kit.gateway.key });
    const { page } = tab;
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.run();
    await tab.see('"categories"', '.result-window');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
    await page.getByRole('button', { name: 'Show Examples' }).click();
    await page.getByRole('button', { name: 'One pet', exact: true }).click();
    await expect.poll(() => tab.editorText()).toContain('query Pet');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
    await tab.leave('graphiql-phone');
  }, 60_000);

  it('loads less than 1.5 MB', async () => {
    const context = await kit.browser.newContext();
    const page = await context.newPage();
    const network = await context.newCDPSession(page);
    await network.send('Network.enable');
    let bytes = 0;
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    const files = new Set<string>();
    page.on('request', (request) => {
      if (request.url().includes('/explorer/')) files.add(request.url());
    });
    await page.goto(`${kit.gateway.url}/graphql`);
    await page.locator('.graphiql-query-editor .view-lines').waitFor({ timeout: 30_000 });
    await page.waitForTimeout(1_000);
    // Workers load over their own connections, so the files are also measured one by one.
    let fileBytes = 0;
    for (const url of files) {
      const { headers } = await fetch(url, { method: 'HEAD', headers: { 'accept-encoding': 'br' } });
      fileBytes += Number(headers.get('content-length'));
    }
    expect(bytes).toBeGreaterThan(500_000);
    expect(fileBytes).toBeGreaterThan(500_000);
    expect(Math.max(fileBytes, bytes)).toBeLessThan(1_500_000);
    await context.close();
  }, 60_000);

  it('shows ids in event data exactly, and why the stream ended', async () => {
    // A gateway of its own, because it refuses new streams afterwards.
    const gateway = await TestGateway.start(kit.gateway.store, {}, kit.gateway.clock);
    onTestFinished(() => gateway.close());
    const tab = await openTab(kit.browser, gateway.url, '/graphql', { key: gateway.key });
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.write('subscription { events(types: [order_created]) { data } }');
    await tab.see('order_created', '.graphiql-query-editor .view-lines');
    await tab.run();
    await tab.page.getByRole('button', { name: 'Stop query' }).waitFor();
    const id = '9007199254740999';
    await expect
      .poll(
        async () => {
          await gateway.call(`/store/orders/${id}`, { method: 'DELETE' });
          await gateway.call('/store/orders', { method: 'POST', body: `{"id":${id}}` });
          await tab.page.waitForTimeout(500);
          return tab.answer.innerText();
        },
        { timeout: 15_000 },
      )
      .toMatch(/"id":\s9007199254740999\b/);
    gateway.endStreams();
    await tab.see('The server ended the stream.', '.result-window');
    await tab.leave('graphiql-subscription-data', /ERR_(INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET)/);
  }, 60_000);
});

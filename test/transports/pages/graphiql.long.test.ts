import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  expectAccessible,
  expectSkipLink,
  REFUSED,
  type Tab,
  tabTo,
  violationsOf,
  withBrowser,
} from '../../kit/browser.ts';
import { dataOf, query } from '../../kit/petstore.ts';

const explorer = new URL('../../../src/transports/pages/explorer/', import.meta.url);
const EXAMPLES = readFileSync(new URL('graphiql/examples.graphql', explorer), 'utf8').split(/\n\n(?=#)/);

/** Not representable as a double. */
const BIG = '9007199254740993';

// One page for all tests, since loading it takes longer than most of what they do. Each says what it needs of it.
withBrowser('GraphiQL', (kit) => {
  let tab: Tab;
  let page: Page;
  beforeAll(async () => {
    tab = await kit.open('/graphql');
    page = tab.page;
  });
  afterAll(() => tab?.leave('graphiql'));

  const openPanel = async (name: string) => {
    const hide = page.getByRole('button', { name: `Hide ${name}` });
    if ((await hide.count()) === 0)
      await page.getByRole('button', { name: `Show ${name}` }).click({ timeout: 30_000 });
    await hide.waitFor({ timeout: 30_000 });
  };
  const titles = () => page.locator('.graphiql-tab-button').allInnerTexts();
  /** GraphiQL saves tabs and history with a delay. */
  const expectStored = (name: string, text: string) =>
    expect
      .poll(() => page.evaluate((key) => localStorage.getItem(key), `graphiql:${name}`), { timeout: 15_000 })
      .toContain(text);

  it('supports the keyboard alone: past the header, key, example, run and copy, without a focus trap', async () => {
    const { keyboard } = page;
    await page.locator('.result-window .view-lines').waitFor({ state: 'attached', timeout: 30_000 });
    await tab.see('Enter an API key to send requests.', '#key-status');
    await expectSkipLink(tab);
    await tabTo(tab, '#key');
    await keyboard.insertText(kit.gateway.key);
    await keyboard.press('Enter');
    await tab.see('left this minute', '#key-status');
    await tabTo(tab, '.examples li:nth-child(5) button');
    await keyboard.press('Enter');
    await expect.poll(() => tab.editorText()).toContain('query Pet');
    await tab.see('the answer appears above', '.cost-strip');
    // Opening an example moves the focus to the editor.
    await keyboard.press('Control+Enter');
    await tab.see('"Rex"', '.result-window');
    await tabTo(tab, '.graphiql-execute-button');
    await tabTo(tab, '.copy-request button');
    await keyboard.press('Enter');
    await tab.see(/Copied|Not allowed here/, '.copy-request button');
    await tab.done('graphiql-by-keyboard');
  });

  it('has examples that run without errors, and restores tabs and history on a phone and a laptop', async () => {
    const examples = page.locator('.examples button');
    await examples.last().waitFor({ timeout: 30_000 });
    const names = await examples.allInnerTexts();
    expect(names).toEqual(EXAMPLES.map((text) => /^# (.*)/.exec(text)![1]));
    for (const text of EXAMPLES.slice(0, -1))
      dataOf(await query(kit.gateway, text, JSON.parse(/^# (\{.*)/m.exec(text)?.[1] ?? '{}')));
    for (const name of names.slice(-3, -1)) {
      await page.getByRole('button', { name, exact: true }).click();
      await tab.see(/^Costs/, '.cost-strip .quote-known');
      const answer = page.waitForResponse(`${kit.gateway.url}/graphql`);
      await tab.run();
      expect(await (await answer).json(), name).toEqual({
        data: expect.anything(),
        extensions: expect.anything(),
      });
    }
    expect(await page.locator('.graphiql-tab').count()).toBe(1);

    await tab.write('query Mine { pet(id: 2) { name } }');
    await expect.poll(titles).toEqual(['Mine']);
    await tab.run();
    await tab.see('"pet"', '.result-window');
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await expect.poll(titles).toEqual(['Mine', 'OpenOrders']);
    // Opening the example again must not add a tab.
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await expectStored('tabState', '"OpenOrders"');
    await expectStored('queries', 'query Mine');

    const expectRestored = async (tabs: string[], query: string) => {
      await tab.see(query, '.view-lines');
      await expect.poll(titles, { timeout: 15_000 }).toEqual(tabs);
      await expect.poll(() => tab.editorText(), { timeout: 15_000 }).toContain(query);
    };

    await page.setViewportSize({ width: 390, height: 900 });
    await page.goto(`${kit.gateway.url}/graphql`, { waitUntil: 'commit' });
    await expectRestored(['Mine', 'OpenOrders'], 'query OpenOrders');
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.run();
    await tab.see('"orders"', '.result-window');
    const inView = () =>
      page.locator('.result-window').evaluate((result) => {
        const { top, bottom } = result.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      });
    await expect.poll(inView).toBe(true);
    await openPanel('Examples');
    await page.getByRole('button', { name: 'One pet', exact: true }).click();
    await expect.poll(() => tab.editorText()).toContain('query Pet');
    await tab.picture('graphiql-phone');
    await expectStored('tabState', '"Pet"');

    await page.setViewportSize({ width: 1280, height: 900 });
    if (process.env.AT_LENGTH === '1') await page.reload({ waitUntil: 'commit' });
    await expectRestored(['Mine', 'Pet'], 'query Pet');
    await page.locator('.examples').waitFor({ timeout: 15_000 });
    const widthOf = async (selector: string) => (await page.locator(selector).boundingBox())!.width;
    // Room for an operation beside the toolbar, and for its answer.
    for (const pane of ['.graphiql-editors', '.graphiql-response'])
      expect(await widthOf(pane)).toBeGreaterThan(430);
    await openPanel('History');
    await tab.see('Mine', '.graphiql-history');
    await tab.done('graphiql-returned');
  });

  it('documents the schema, completes names and builds operations without a key', async () => {
    await tab.useKey('');
    await tab.see('Enter an API key to send requests.', '#key-status');
    await openPanel('Documentation Explorer');
    await page.locator('.graphiql-doc-explorer-content').getByText('Query', { exact: true }).click();
    await tab.see('Root type of all queries.', '.graphiql-doc-explorer-content');
    // What is typed before the editor's worker has the schema is not completed later.
    const completed = page.locator('.suggest-widget .monaco-list-row').filter({ hasText: 'inventoryItem' });
    const typeName = async () => {
      await tab.write('{ ');
      await page.keyboard.type('inventoryI');
      return completed.first().waitFor({ timeout: 2_000 });
    };
    await expect
      .poll(
        () =>
          typeName().then(
            () => true,
            () => false,
          ),
        { timeout: 15_000 },
      )
      .toBe(true);
    await page.keyboard.press('Escape');
    await tab.write('query { pets(sort: name_desc, filter: {status: [available, sold]}) { nodes { id } } }');
    await openPanel('Build');
    await page.getByLabel('Operation name').first().waitFor();
    expect(await page.locator('.graphiql-plugin').evaluate((panel) => panel.scrollTop)).toBe(0);
    await tab.see('[available, sold]', '.graphiql-plugin');
    await expect.poll(() => page.locator('.graphiql-plugin select').first().inputValue()).toBe('name_desc');
    await page.locator('.graphiql-explorer-nodes').getByText('status', { exact: true }).click();
    await expect.poll(() => tab.editorText()).toMatch(/nodes \{\s+id\s+status/);
    await tab.done('graphiql-build');
  });

  it('checks the key, uses it in all tabs, and stores it nowhere', async () => {
    await tab.useKey('');
    await tab.see('Enter an API key to send requests.', '#key-status');
    await tab.useKey(`petstore_${'x'.repeat(43)}`);
    await tab.see(/API key/, '#key-status[role=status]');
    expect(await page.locator('#key').getAttribute('aria-invalid')).toBe('true');
    await tab.useKey('no key at all');
    await tab.see('keys are ASCII without spaces', '#key-status');
    await tab.useKey(kit.gateway.key);
    await tab.see(/Enterprise: 999,9\d\d of 1,000,000 left this minute/, '#key-status');

    await page.getByRole('button', { name: 'New tab' }).click();
    await tab.write('{ categories(first: 1) { nodes { description } } }');
    await page.getByRole('button', { name: 'Headers', exact: true }).click();
    await tab.write('{ "X-Own": "a secret" }', '.graphiql-editor-tool .graphiql-editor:not(.hidden)');
    await tab.run();
    await tab.see('Loyal, loud and always hungry', '.result-window');
    await page.getByRole('button', { name: 'Variables', exact: true }).click();
    await expectStored('queries', 'nodes { description }');
    await expectStored('tabState', 'nodes { description }');
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
    expect(kept).not.toContain(kit.gateway.key);
    expect(kept).not.toContain('a secret');
    expect(page.url()).toBe(`${kit.gateway.url}/graphql`);
    await tab.done('graphiql-key', REFUSED);
  });

  it('shows the cost of the operation under the cursor while typing, and requests it only when it changes', async () => {
    let costRequests = 0;
    page.on('request', (request) => {
      // The key is checked every 3 seconds by the cost of `{__typename}`.
      const isCheck = request.postData()?.includes('__typename');
      if (request.url().endsWith('/graphql/cost') && !isCheck) costRequests++;
    });
    await tab.write('{ pets(first: 50) { nodes { orders(first: 10) { nodes { id } } } } }');
    await tab.see('Costs 6 units', '.cost-strip');
    const before = costRequests;
    // Formatting and comments do not change the operation.
    await tab.write('{\n  pets(first: 50) { nodes { orders(first: 10) { nodes { id } } } }\n  # large\n}');
    await page.keyboard.press('ArrowUp');
    // Nor is the cost of invalid ones requested.
    for (const [query, problem] of [
      ['{ pets(first: 50) { nodes { nothing } } }', 'Cannot query field "nothing"'],
      ['{ pets(first: 50) {', 'The operation is incomplete.'],
      ['{ pets { nodes { id } } } }', 'Syntax Error: Unexpected "}" in line 1, column 27.'],
    ] as const) {
      await tab.write(query);
      await tab.see(problem, '.cost-strip');
    }
    expect(costRequests).toBe(before);

    await tab.write('{ pets(first: 50) { nodes { orders(first: 10) { nodes { id } } } } }');
    await tab.see('Costs 6 units', '.cost-strip');
    await tab.run();
    await tab.see(/The last run cost 6 units\. 200, \d+ ms, [\d.]+ k?B/, '.cost-strip');
    await tab.see(/Resets in \d+ s\./, '#key-reset');
    await tab.see(/999,9\d\d of 1,000,000 left this minute/, '#key-status');
    expect(await tab.answer.textContent()).not.toContain('rateLimit');

    await tab.write(
      'query A { pet(id: 1) { id } }\nquery B { pets(first: 100) { nodes { orders(first: 1) { nodes { id } } } } }',
    );
    await tab.see('Costs 2 units', '.cost-strip');
    await page.keyboard.press('Control+Home');
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.done('graphiql-cost');
  });

  it('says in the words of the server that an operation is too expensive, or that the cost is asked for too often', async () => {
    await tab.write(
      '{ categories(first: 100) { nodes { id pets(first: 100) { nodes { id } } } } orders { nodes { id } } }',
    );
    await tab.see(/102 units/, '.cost-strip .quote-refused');
    const refusal = {
      status: 429,
      json: { errors: [{ message: 'Too many at once.', extensions: { code: 'RATE_LIMITED' } }] },
    };
    await page.route('**/graphql/cost', (route) => route.fulfill(refusal), { times: 1 });
    await tab.write('{ pet(id: 3) { name } }');
    await tab.see('Too many at once.', '.cost-strip .quote-none');
    await tab.done('graphiql-too-expensive', REFUSED);
  });

  it('explains an unreachable server', async () => {
    const ANY_OPERATION = /\/graphql(\/cost)?$/;
    await page.route(ANY_OPERATION, (route) => route.abort());
    await tab.run();
    // The result editor wraps lines, so only a single word can be matched.
    await tab.see('reached', '.result-window');
    await tab.write('{ pet(id: 4) { id } }');
    await tab.see('The server cannot be reached.', '.cost-strip');
    expect(await tab.answer.innerText()).not.toContain('stack');
    await page.unroute(ANY_OPERATION);
    await tab.done('graphiql-away', /ERR_FAILED/);
  });

  it('has no serious violations of accessibility with a result in any look, nor in its panels', async () => {
    await tab.write('{ categories { nodes { name } } }');
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.run();
    await tab.see('"categories"', '.result-window');
    await expectAccessible(tab, 'graphiql');
    for (const width of process.env.AT_LENGTH === '1' ? [1280, 390] : [390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const panel of ['Build', 'History', 'Documentation Explorer', 'Examples']) {
        await openPanel(panel);
        expect(await violationsOf(tab, undefined, '.graphiql-plugin'), panel).toEqual([]);
      }
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    await tab.done('graphiql-panels');
  });

  it('copies the operation as curl and as a link that opens it, never with the key', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await kit.gateway.call('/store/orders', { method: 'POST', body: `{"id":${BIG}}` });
    await tab.write(`{ "id": "${BIG}" } // beyond 2^53`, '.graphiql-editor-tool');
    await tab.write(`query Own($id: ID!) { order(id: $id) { id } }`);
    await tab.see('Costs 1 unit', '.cost-strip');
    const copied = async (button: string) => {
      await page.locator(button).click();
      await tab.see('Copied', button);
      const text = await page.evaluate(() => navigator.clipboard.readText());
      expect(text).not.toContain(kit.gateway.key);
      return text;
    };
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-c', await copied('.copy-request button:first-child')],
      {
        env: { ...process.env, KEY: kit.gateway.key },
      },
    );
    expect(stdout).toContain(`{"order":{"id":"${BIG}"}}`);
    const link = await copied('.copy-request button:last-child');
    expect(link).toContain('/graphql?query=');
    await page.evaluate(() => localStorage.clear());
    await page.goto(link, { waitUntil: 'commit' });
    await tab.see('query Own', '.view-lines');
    await expect.poll(() => tab.editorText(), { timeout: 15_000 }).toContain('query Own($id: ID!)');
    await expect.poll(() => page.locator('.graphiql-editor-tool').innerText()).toContain(BIG);
    expect(page.url()).toBe(`${kit.gateway.url}/graphql`);

    await tab.done('graphiql-copied');
  });

  it('shows all events of a subscription, newest first and exactly, with its cost, until it ends or is stopped', async () => {
    const { gateway } = kit;
    await tab.useKey(await gateway.newKey('pro'));
    await tab.write('subscription { events(types: [order_created]) { data } }');
    await tab.see('order_created', '.graphiql-query-editor .view-lines');
    await tab.run();
    const stop = page.getByRole('button', { name: 'Stop query' });
    await stop.waitFor();
    await tab.see('Listening: 0 events so far', '.cost-strip');
    // The stream is open when its unit is charged.
    await tab.see('299 of 300 left this minute', '#key-status');
    const ids = ['9007199254740995', '9007199254740997', '9007199254740999'];
    for (const id of ids) await gateway.call('/store/orders', { method: 'POST', body: `{"id":${id}}` });
    await tab.see('Listening: 3 events so far', '.cost-strip');
    // The next 100 events cost another one.
    await tab.see('298 of 300 left this minute', '#key-status');
    const shown = async () =>
      [...(await tab.answer.innerText()).matchAll(/"id":\s*(\d{16})/g)].map(([, id]) => id);
    // The editor renders the lines in view only.
    await expect.poll(async () => (await shown()).slice(0, 2)).toEqual(ids.toReversed().slice(0, 2));
    await stop.click();
    await page.getByRole('button', { name: 'Execute query' }).waitFor();
    expect(await tab.answer.innerText()).not.toContain('errors');
    await tab.run();
    await stop.waitFor();
    await tab.see('297 of 300 left this minute', '#key-status');
    // The gateway refuses new streams from now on, so this test is the last.
    gateway.endStreams();
    await tab.see('The server ended the stream.', '.result-window');
    await tab.done('graphiql-subscription', /ERR_(INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET)/);
  });
});

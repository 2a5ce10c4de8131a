import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import {
  expectAccessible,
  expectSkipLink,
  tabTo,
  LOOKS,
  PHONE,
  type Tab,
  takeOn,
  violationsOf,
  withBrowser,
} from '../../kit/browser.ts';

/** Not representable as a double. */
const BIG = '9007199254740993';

// One page for all tests, since loading it takes longer than most of what they do.
withBrowser('REST docs', (kit) => {
  let tab: Tab;
  let page: Page;
  beforeAll(async () => {
    tab = await kit.open('/docs');
    page = tab.page;
  });
  afterAll(() => tab?.leave('docs'));

  const section = (operationId: string) => page.locator(`section[id$="/${operationId}"]`);
  const topOf = async (operationId: string) => (await section(operationId).boundingBox())?.y;
  const send = () => page.getByRole('button', { name: /^Send/ }).first();
  const look = (operationId: string) => tab.goto(`/docs#tag/${operationId}`);

  /** Opens the console of an operation until the test ends. */
  async function tryOut(operationId: string): Promise<void> {
    await section(operationId).getByRole('button', { name: 'Test Request' }).click({ timeout: 15_000 });
    await inConsole();
  }
  /** Scalar takes over what was typed with a delay, by the clock of a page that may be slow. */
  async function fillBody(body: string): Promise<void> {
    await page.locator('[aria-label="Request body"]').fill(body);
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 500)));
  }
  async function inConsole(): Promise<void> {
    await send().waitFor({ timeout: 15_000 });
    onTestFinished(async () => {
      await page.locator('.app-exit-button').click();
      await send().waitFor({ state: 'hidden' });
    });
  }

  // Early, since each check visits every element, and the page grows with each section that was in view.
  it('is accessible by Tab, in any look, and on a phone with its console open', async () => {
    await expectSkipLink(tab);
    await tabTo(tab, 'a[href^="#models/"]');
    await tab.useKey(kit.gateway.key);
    await look('Store/createOrder');
    await tab.see('Up to 9223372036854775807.', 'section[id$="/createOrder"] *');
    // The page is long, so that a look takes seconds. The last one has the console open.
    const others = 'section[id*="/tag/"]:not([id$="/createOrder"])';
    await expectAccessible(tab, 'docs', others, LOOKS.length > 2 ? LOOKS : [LOOKS[0]]);
    await takeOn(tab, PHONE);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await tryOut('createOrder');
    const boxOf = (selector: string) => page.locator(selector).first().boundingBox();
    const address = await boxOf('.address-bar-bg-states');
    const toggle = await boxOf('.scalar-sidebar-toggle');
    expect(toggle!.y).toBeGreaterThanOrEqual(address!.y + address!.height);
    await fillBody('{ "petId": 1 }');
    await send().click();
    await tab.see('"petId"', '[aria-label="Response body"]');
    await tab.picture('docs-console');
    expect(await violationsOf(tab, others)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await tab.done('docs-console');
  });

  it('sends and shows ids beyond 2^53 exactly, with the key of the header and its remaining budget', async () => {
    const key = await kit.gateway.newKey('enterprise', { perMinute: 2, perDay: 100 });
    await look('Store/createOrder');
    await tab.useKey(key);
    await tab.see('Enterprise: 2 of 2 left this minute, 100 of 100 today', '#key-status');
    await tryOut('createOrder');
    await fillBody(`{ "id": ${BIG}, "petId": 1 }`);
    await send().click();
    await tab.see(BIG, '[aria-label="Response body"]');
    expect((await kit.gateway.call(`/store/orders/${BIG}`)).text).toContain(`"id":${BIG}`);
    await tab.see('1 of 2 left this minute, 99 of 100 today', '#key-status');
    await send().click();
    await tab.see('"CONFLICT"', '[aria-label="Response body"]');
    await send().click();
    await tab.see('"RATE_LIMITED"', '[aria-label="Response body"]');
    await tab.see('0 of 2 left this minute', '[data-kind="empty"]');
    // The page can be shared, because it does not contain the key.
    expect(await page.content()).not.toContain(key);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(key);
    const orders = '**/store/orders';
    await page.route(orders, (route) => route.abort());
    await send().click();
    await tab.see('The server cannot be reached.');
    await page.unroute(orders);
    await tab.done('docs-exact', /status of 4\d\d|ERR_FAILED|cannot be reached/);
  });

  it('offers no console exactly where the specification disables it, and says why', async () => {
    await tab.useKey(kit.gateway.key);
    await look('Store/listOrders');
    await tab.see('The specification disables the try-it panel', 'section[id$="/listOrders"] *');
    await section('createOrder').getByRole('button', { name: 'Test Request' }).waitFor();
    expect(await section('listOrders').locator('.show-api-client-button').isVisible()).toBe(false);
    await tab.done('docs-not-tried');
  });

  it('marks deprecated, beta and experimental operations, and leads to the same operation in GraphiQL', async () => {
    await look('Pets/getPet');
    await tab.see('sunset 2027-06-30', 'section[id$="/getPet"] *');
    await tab.see(/deprecated/i, 'section[id$="/getPet"] *');
    await look('Pets/listPetsOfCategory');
    await tab.see('experimental', 'section[id$="/listPetsOfCategory"] *');
    await look('Pets/getCategory');
    const category = section('getCategory');
    const link = await category.getByRole('link', { name: 'Open in GraphiQL' }).getAttribute('href');
    await expect.poll(() => topOf('getCategory')).toBeLessThan(300);
    // A link to another operation, followed while the page is open.
    await page.evaluate(() => {
      location.hash = '#tag/Store/updateOrder';
    });
    await expect.poll(() => topOf('updateOrder')).toBeLessThan(300);
    const opened = new URLSearchParams(link!.split('?')[1]);
    expect(opened.get('query')).toContain('query getCategory(');
    expect(JSON.parse(opened.get('variables')!)).toHaveProperty('categoryId');
    await tab.done('docs-and-graphiql');
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const found = existsSync(executablePath);
if (!found) {
  const message = `No Chromium at ${executablePath}: the pages are not tested in a browser. apt-get install chromium, or set CHROMIUM.`;
  // Where everything else is installed, this has to be too.
  if (process.env.CI || process.env.REQUIRE_MONGO) throw new Error(message);
  console.warn(`!!! ${message}`);
}

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Set to a folder, it gets pictures of what was seen. */
const shots = process.env.SCREENSHOTS;

describe.skipIf(!found)('a newcomer with a browser', () => {
  let home: string;
  let gateway: ChildProcess;
  let url: string;
  let browser: Browser;
  /** What the page complained about: violations of its policy, faults, requests that failed. */
  let complaints: string[] = [];
  /** Requests that left for another machine. */
  let abroad: string[] = [];

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'petstore-browser-'));
    const { NODE_ENV: _test, ...environment } = process.env;
    // The real entry point, since it is what hands the key of a development start on to the pages.
    gateway = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
      env: { ...environment, DATA_FILE: join(home, 'petstore.db'), PORT: '0', LOG_LEVEL: 'silent' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    url = await addressOf(gateway);
    browser = await chromium.launch({ executablePath, args: ARGUMENTS });
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    gateway?.kill();
    rmSync(home, { recursive: true, force: true });
  });

  async function open(path: string): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    complaints = [];
    abroad = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('response', (response) => {
      if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
    });
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${url}/`))
        abroad.push(request.url());
    });
    await page.goto(url + path);
    return page;
  }

  async function leave(page: Page, name: string): Promise<void> {
    if (shots) {
      mkdirSync(shots, { recursive: true });
      await page.screenshot({ path: join(shots, `${name}.png`) });
    }
    await page.close();
    expect(complaints).toEqual([]);
    expect(abroad).toEqual([]);
  }

  const seenIn = (page: Page, selector: string, text: string | RegExp) =>
    page.locator(selector).filter({ hasText: text }).first().waitFor({ timeout: 15_000 });

  it('finds the way from the landing page', async () => {
    const page = await open('/');
    await page.getByRole('link', { name: '/docs' }).click();
    await page.waitForURL(`${url}/docs`);
    await page.locator('.opblock').first().waitFor();
    await leave(page, 'landing-to-docs');
  }, 60_000);

  it('runs a nested query in GraphiQL, with nothing to fill in', async () => {
    const page = await open('/graphql');
    await page.locator('.graphiql-execute-button').click({ timeout: 30_000 });
    await seenIn(page, '.result-window', 'Loyal, loud and always hungry');
    expect(await page.locator('.graphiql-tab-button').allTextContents()).toEqual([
      'PetsAndCategories',
      'CreateOrder',
      'OpenOrders',
      'Inventory',
      'RateLimit',
    ]);
    // What it shows can be reloaded: nothing but the path is in the address.
    expect(page.url()).toBe(`${url}/graphql`);
    await leave(page, 'graphiql');
  }, 60_000);

  it('finds tabs that all run', async () => {
    const page = await open('/graphql');
    const expected = {
      PetsAndCategories: '"categories"',
      CreateOrder: '"createOrder"',
      OpenOrders: '"orders"',
      Inventory: '"inventory"',
      RateLimit: '"rateLimit"',
    };
    for (const [title, text] of Object.entries(expected)) {
      await page.getByRole('button', { name: title, exact: true }).click({ timeout: 30_000 });
      await seenIn(page, '.graphiql-tab-active', title);
      await seenIn(page, '.graphiql-query-editor .view-line', title);
      // GraphiQL takes a moment to see which operation the new tab has; people are slower than that.
      await expect
        .poll(
          async () => {
            await page.locator('.graphiql-execute-button').click();
            await page.waitForTimeout(300);
            return page.locator('.result-window').textContent();
          },
          { timeout: 15_000, interval: 200 },
        )
        .toContain(text);
      expect(await page.locator('.result-window').textContent()).not.toContain('"errors"');
    }
    complaints = complaints.filter((complaint) => !/\b400\b/.test(complaint));
    await leave(page, 'graphiql-tabs');
  }, 60_000);

  it('reads descriptions in the documentation of the schema', async () => {
    const page = await open('/graphql');
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click({ timeout: 30_000 });
    await page.locator('.graphiql-doc-explorer-content').getByText('Query', { exact: true }).click();
    await seenIn(page, '.graphiql-doc-explorer-content', 'What can be read.');
    await leave(page, 'graphiql-docs');
  }, 60_000);

  it('tries REST operations, but for the one whose panel is disabled', async () => {
    const page = await open('/docs');
    const panel = (operationId: string) => page.locator(`.opblock[id$="-${operationId}"]`);
    const unfold = async (operationId: string) => {
      await panel(operationId).locator('.opblock-summary-control').click();
      await panel(operationId).locator('.opblock-body').waitFor();
    };
    await page.locator('.opblock').first().waitFor();
    // Swagger UI's own answer for each operation …
    const forbidden = await page.evaluate<string[]>(`
      Object.entries(ui.specSelectors.specJson().get('paths').toJS()).flatMap(([path, methods]) =>
        Object.entries(methods)
          .filter(([method]) => !ui.specSelectors.allowTryItOutFor(path, method))
          .map(([, operation]) => operation.operationId))`);
    expect(forbidden).toEqual(['listOrders']);
    // … and what comes of it.
    for (const [operationId, buttons] of Object.entries({ listOrders: 0, createOrder: 1, getPet: 1 })) {
      await unfold(operationId);
      expect(await panel(operationId).locator('.try-out__btn').count(), operationId).toBe(buttons);
    }

    await panel('getPet').locator('.try-out__btn').click();
    await panel('getPet').locator('.execute').click();
    await panel('getPet').locator('.live-responses-table', { hasText: '"name": "Rex"' }).waitFor();
    await leave(page, 'docs-tried');
  }, 90_000);

  it('sees what is deprecated, beta and experimental', async () => {
    const page = await open('/docs');
    await page.locator('.opblock').first().waitFor();
    const badge = (operationId: string) =>
      page.locator(`.opblock[id$="-${operationId}"] .lifecycle`).allTextContents();
    expect(await badge('getPet')).toEqual(['deprecated, ends 2027-06-30']);
    expect(await badge('updatePet')).toEqual(['beta']);
    expect(await badge('listPetsOfCategory')).toEqual(['experimental']);
    expect(await badge('listPets')).toEqual([]);
    await leave(page, 'docs');
  }, 60_000);
});

/** Where a gateway that starts says that it is. */
function addressOf(gateway: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    gateway.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const address = /Petstore gateway on (\S+)/.exec(output)?.[1];
      if (address) resolve(address);
    });
    gateway.on('exit', (code) => reject(new Error(`The gateway ended with ${code}: ${output}`)));
  });
}

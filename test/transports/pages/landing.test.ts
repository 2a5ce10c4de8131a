import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, launch, openTab } from '../../kit/browser.ts';
import { type ServerProcess, startServer } from '../../kit/process.ts';

describe.skipIf(!hasBrowser)('the landing page of a development server', () => {
  let home: string;
  let server: ServerProcess;
  let browser: Browser;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'petstore-browser-'));
    // The real entry point, because it creates the development key and passes it to the pages.
    server = await startServer({ DATA_FILE: join(home, 'petstore.db'), LOG_LEVEL: 'silent' });
    browser = await launch();
  }, 60_000);

  afterAll(async () => {
    server?.child.kill();
    await server?.exited;
    rmSync(home, { recursive: true, force: true });
  });

  it('shows three cards whose command, GraphiQL link and REST link work without entering a key', async () => {
    const tab = await openTab(browser, server.url, '/');
    const { page } = tab;
    await tab.see('Business: ', '#key-status');
    expect(await page.locator('.cards li').count()).toBe(3);
    await tab.picture('landing');
    const command = await page.locator('.cards pre').innerText();
    const { stdout } = await promisify(execFile)('bash', ['-c', command]);
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'Rex' }, { id: 2 }]);
    await page.getByRole('link', { name: 'Open the query in GraphiQL' }).click();
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.run();
    await tab.see('Loyal, loud and always hungry', '.result-window');
    await page.goto(server.url);
    await page.getByRole('link', { name: 'Open createOrder in the REST docs' }).click();
    const create = page.locator('section[id$="/createOrder"]');
    await create.getByRole('button', { name: 'Test Request' }).click({ timeout: 15_000 });
    await page.getByRole('button', { name: /^Send/ }).first().click({ timeout: 15_000 });
    await tab.see('"complete": false', '[aria-label="Response body"]');
    await tab.leave('landing-tried');
  }, 90_000);
});

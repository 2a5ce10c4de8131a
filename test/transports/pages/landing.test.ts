import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, launch, openTab, SCHEMES, WIDTHS, withBrowser } from '../../kit/browser.ts';
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
    await browser?.close();
    server?.child.kill();
    await server?.exited;
    rmSync(home, { recursive: true, force: true });
  });

  it('shows three cards whose command, GraphiQL link and REST link work without entering a key', async () => {
    const tab = await openTab(browser, server.url, '/');
    const { page } = tab;
    await tab.see('Key accepted: plan business.', '#key-status');
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
    const create = page.locator('.opblock[id$="-createOrder"]');
    await create.locator('.try-out__btn').click({ timeout: 15_000 });
    await create.locator('.execute').click();
    await create.locator('.live-responses-table', { hasText: '"complete": false' }).waitFor();
    await tab.leave('landing-tried');
  }, 90_000);
});

withBrowser('the landing page', (kit) => {
  it.each(SCHEMES.flatMap((scheme) => WIDTHS.map((width) => ({ scheme, width }))))(
    'fits the window without horizontal scrolling ($scheme, $width px)',
    async ({ scheme, width }) => {
      const tab = await kit.open('/', { scheme, width });
      await tab.see('Things to try', 'h2');
      expect(await tab.page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      await tab.leave(`landing-${scheme}-${width}`);
    },
    60_000,
  );
});

import { expect, it } from 'vitest';
import { expectAccessible, LOOKS, type Tab, violationsOf, withBrowser } from '../../kit/browser.ts';

withBrowser('accessibility', (kit) => {
  it('finds no serious violations on the landing page in any look', async () => {
    const tab = await kit.open('/');
    await tab.see('Enter an API key', '#key-status');
    await expectAccessible(tab, 'landing');
    await tab.leave('landing');
  }, 60_000);

  it('finds no serious violations in GraphiQL with a result in any look, nor in its panels', async () => {
    const tab = await kit.open('/graphql', { key: kit.gateway.key });
    await tab.see('Costs 1 unit', '.cost-strip');
    await tab.run();
    await tab.see('"categories"', '.result-window');
    await expectAccessible(tab, 'graphiql');
    for (const look of LOOKS.slice(1, 3)) {
      await tab.page.setViewportSize({ width: look.width, height: 900 });
      for (const panel of ['Build', 'Cost and REST', 'History', 'Documentation Explorer', 'Examples']) {
        const hide = tab.page.getByRole('button', { name: `Hide ${panel}` });
        if ((await hide.count()) === 0)
          await tab.page.getByRole('button', { name: `Show ${panel}` }).click({ timeout: 15_000 });
        await hide.waitFor({ timeout: 15_000 });
        expect(await violationsOf(tab), panel).toEqual([]);
      }
    }
    // The panel that builds operations says so of every list of enum values.
    await tab.leave('graphiql-panels', /arg mismatch/);
  }, 120_000);

  /** Presses Tab until an element that matches the selector has the focus. */
  async function tabTo(tab: Tab, selector: string, maxPresses = 80): Promise<void> {
    for (let presses = 0; presses < maxPresses; presses++) {
      if (await tab.page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
      await tab.page.keyboard.press('Tab');
    }
    throw new Error(`The keyboard does not reach ${selector}.`);
  }

  it('supports GraphiQL by keyboard alone: key, example, run and copy, without a focus trap', async () => {
    const tab = await kit.open('/graphql');
    const { keyboard } = tab.page;
    await tab.page.locator('.result-window .view-lines').waitFor({ state: 'attached', timeout: 30_000 });
    await tabTo(tab, '#key');
    await keyboard.insertText(kit.gateway.key);
    await keyboard.press('Enter');
    await tab.see('left this minute', '#key-status');
    await tabTo(tab, '.examples li:nth-child(5) button');
    await keyboard.press('Enter');
    await expect.poll(() => tab.editorText()).toContain('query Pet');
    // Opening an example moves the focus to the editor.
    await keyboard.press('Control+Enter');
    await tab.see('"Rex"', '.result-window');
    await tabTo(tab, '.graphiql-execute-button');
    await tabTo(tab, '.copy-request .copy-button');
    await keyboard.press('Enter');
    await tab.see(/Copied|The browser does not allow copying/, '.said');
    await tab.leave('graphiql-by-keyboard');
  }, 90_000);

  it('leads past the header by the first press of Tab, on every page', async () => {
    const tab = await kit.open('/');
    for (const path of ['/', '/docs', '/graphql', '/console']) {
      await tab.goto(path);
      await tab.page.keyboard.press('Tab');
      expect(await tab.page.evaluate(() => document.activeElement?.className), path).toBe('skip');
      await tab.page.keyboard.press('Enter');
      expect(new URL(tab.page.url()).hash, path).toBe('#main');
      expect(await tab.page.locator('#main').count(), path).toBe(1);
    }
    await tab.leave('skip-link');
  }, 60_000);
});

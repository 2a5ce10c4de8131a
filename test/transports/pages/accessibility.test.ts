import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { expect, it } from 'vitest';
import { SCHEMES, type Tab, WIDTHS, withBrowser } from '../../kit/browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations inside libraries that cannot be fixed from outside. */
const EXCEPTIONS: readonly { rule: string; selector: string; why: string }[] = [
  {
    rule: 'nested-interactive',
    selector: '.graphiql-tab',
    why: 'GraphiQL makes the element that contains the buttons of a tab draggable.',
  },
  {
    rule: 'label-content-name-mismatch',
    selector: '.graphiql-history-item-label',
    why: 'GraphiQL labels a history entry by its action, not by its visible text.',
  },
];

/** Critical and serious violations, one line each. */
async function violationsOf({ page }: Tab): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  // Wait for colour transitions, which distort the contrast.
  await page.evaluate(async () => {
    const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
    await Promise.allSettled(transitions.map(({ finished }) => finished));
  });
  const { violations } = (await page.evaluate('axe.run({ resultTypes: ["violations"] })')) as AxeResults;
  const lines: string[] = [];
  for (const { id, impact, nodes } of violations) {
    if (impact !== 'critical' && impact !== 'serious') continue;
    for (const { target, failureSummary } of nodes) {
      const element = page.locator(String(target.at(-1))).first();
      const matches = await Promise.all(
        EXCEPTIONS.filter(({ rule }) => rule === id).map(({ selector }) =>
          element.evaluate((node, excepted) => node.matches(excepted), selector),
        ),
      );
      if (!matches.includes(true)) lines.push(`${impact} ${id} ${target.join(' ')}: ${failureSummary}`);
    }
  }
  return lines;
}

const LOOKS = SCHEMES.flatMap((scheme) => WIDTHS.map((width) => ({ scheme, width })));

withBrowser('accessibility', (kit) => {
  it.each(LOOKS)(
    'finds no serious violations on the landing page ($scheme, $width px)',
    async (look) => {
      const tab = await kit.open('/', look);
      await tab.see('Enter an API key', '#key-status');
      expect(await violationsOf(tab)).toEqual([]);
      await tab.leave(`first-page-${look.scheme}-${look.width}`);
    },
    60_000,
  );

  it.each(LOOKS)(
    'finds no serious violations in GraphiQL with a result and its panels ($scheme, $width px)',
    async (look) => {
      const tab = await kit.open('/graphql', { ...look, key: kit.gateway.key });
      await tab.see('Costs 1 unit', '.cost-strip');
      await tab.run();
      await tab.see('"categories"', '.result-window');
      expect(await violationsOf(tab)).toEqual([]);
      for (const panel of ['Examples', 'Cost and REST', 'History', 'Documentation Explorer']) {
        const hide = tab.page.getByRole('button', { name: `Hide ${panel}` });
        // A wide window starts with the examples.
        if ((await hide.count()) === 0)
          await tab.page.getByRole('button', { name: `Show ${panel}` }).click({ timeout: 15_000 });
        await hide.waitFor({ timeout: 15_000 });
        expect(await violationsOf(tab), panel).toEqual([]);
      }
      await tab.leave(`graphiql-${look.scheme}-${look.width}`);
    },
    90_000,
  );

  it.each(WIDTHS)(
    'finds no serious violations in the REST docs with open operations, light and dark (%i px)',
    async (width) => {
      const tab = await kit.open('/docs', { width, key: kit.gateway.key });
      const { page } = tab;
      const panel = (operationId: string) => page.locator(`.opblock[id$="-${operationId}"]`);
      for (const operationId of ['getPet', 'createOrder', 'listOrders']) {
        await panel(operationId).locator('.opblock-summary-control').click({ timeout: 15_000 });
        await panel(operationId).locator('.response-headers').first().waitFor();
      }
      await panel('getPet').locator('.try-out__btn').click();
      await panel('getPet').locator('.execute').click();
      await panel('getPet').locator('.live-responses-table', { hasText: '"Rex"' }).waitFor();
      await page.locator('.opblock summary').evaluateAll((summaries) => {
        for (const summary of summaries) (summary as HTMLElement).click();
      });
      for (const scheme of SCHEMES) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.locator(scheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)').waitFor();
        expect(await violationsOf(tab), scheme).toEqual([]);
        await tab.picture(`docs-${scheme}-${width}`);
      }
      await tab.leave(`docs-${width}`);
    },
    120_000,
  );

  /** Presses Tab until an element that matches the selector has the focus. */
  async function tabTo(tab: Tab, selector: string, maxPresses = 60): Promise<void> {
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
    await tab.see('Key accepted', '#key-status');
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

  it('supports the REST docs by keyboard alone: open, try out, execute and switch samples', async () => {
    const tab = await kit.open('/docs', { key: kit.gateway.key });
    const { keyboard } = tab.page;
    await tab.page.locator('.opblock').first().waitFor({ timeout: 15_000 });
    await tabTo(tab, '[id$="-listPets"] .opblock-summary-control');
    await keyboard.press('Enter');
    await tabTo(tab, '[id$="-listPets"] .try-out__btn');
    await keyboard.press('Enter');
    await tabTo(tab, '[id$="-listPets"] .execute');
    await keyboard.press('Enter');
    await tab.see('"Rex"', '.live-responses-table');
    await tabTo(tab, '[id$="-listPets"] .languages button:nth-child(3)');
    await keyboard.press('Enter');
    await tab.see('urllib.request', '.samples');
    await tab.leave('docs-by-keyboard');
  }, 90_000);
});

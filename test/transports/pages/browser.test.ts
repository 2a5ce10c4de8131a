import { expect, it } from 'vitest';
import { withBrowser } from '../../kit/browser.ts';

withBrowser(
  'pages below a prefix',
  (kit) => {
    it('find their scripts, each other and the gateway', async () => {
      const key = await kit.gateway.newKey('business');
      const tab = await kit.open('/shop/', { key });
      await tab.page.getByRole('button', { name: 'Run it' }).click();
      await tab.see(/Answered in \d+ ms/, '#ran');
      expect(await tab.page.locator('#first-curl').innerText()).toContain('/shop/v1/pets?limit=2');
      await tab.page.getByRole('link', { name: 'Open GraphiQL' }).click();
      await tab.see('Costs 1 unit', '.cost-strip');
      await tab.run();
      await tab.see('"Dogs"', '.result-window *');
      await tab.page.getByRole('link', { name: 'REST docs' }).click();
      await tab.see('List pets', '.scalar-app *');
      await tab.page.getByRole('link', { name: 'Console' }).click();
      await tab.see('Business', 'main *');
      await tab.page.getByRole('link', { name: 'Guides' }).click();
      await tab.see('Tasks', 'main h2');
      await tab.leave('below-a-prefix');
    });
  },
  { BASE_PATH: '/shop', REST_BASE_PATH: '/v1' },
);

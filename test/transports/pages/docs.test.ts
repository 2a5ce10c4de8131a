import { expect, it } from 'vitest';
import { type Tab, withBrowser } from '../../kit/browser.ts';
import { Description } from '../../kit/openapi.ts';

/** The browser's own message about a 4xx response. */
const REFUSED = /Failed to load resource: the server responded with a status of 4\d\d/;

/** Not representable as a double. */
const BIG = '9007199254740993';

withBrowser('REST docs', (kit) => {
  const panel = (tab: Tab, operationId: string) => tab.page.locator(`.opblock[id$="-${operationId}"]`);

  async function unfold(tab: Tab, operationId: string): Promise<void> {
    await panel(tab, operationId).locator('.opblock-summary-control').click({ timeout: 15_000 });
    await panel(tab, operationId).locator('.opblock-body').waitFor();
  }

  it('sends and shows ids beyond 2^53 exactly', async () => {
    const tab = await kit.open('/docs', { key: kit.gateway.key });
    await unfold(tab, 'createOrder');
    const create = panel(tab, 'createOrder');
    await create.locator('.try-out__btn').click();
    await create.locator('textarea.body-param__text').fill(`{ "id": ${BIG}, "petId": 1 }`);
    await create.locator('.execute').click();
    await create.locator('.live-responses-table', { hasText: `"id": ${BIG}` }).waitFor();
    const command = await create.locator('.curl').innerText();
    expect(command).toContain(`"id": ${BIG}`);
    // The command can be shared, because it does not contain the key.
    expect(command).toContain('-H "X-API-Key: $KEY"');
    expect(await tab.page.content()).not.toContain(kit.gateway.key);
    expect((await kit.gateway.call(`/store/orders/${BIG}`)).text).toContain(`"id":${BIG}`);

    await unfold(tab, 'getOrder');
    const get = panel(tab, 'getOrder');
    // The maximum in the OpenAPI description.
    expect(await get.locator('.parameters').innerText()).toContain('9223372036854775807');
    await get.locator('.try-out__btn').click();
    await get.locator('input[placeholder="orderId"]').fill(BIG);
    await get.locator('.execute').click();
    await get.locator('.live-responses-table', { hasText: `"id": ${BIG}` }).waitFor();
    await tab.leave('docs-exact');
  }, 60_000);

  it('sends the largest id, but marks larger and malformed ones as invalid instead', async () => {
    const tab = await kit.open('/docs', { key: kit.gateway.key });
    const sent: string[] = [];
    tab.page.on('request', (request) => sent.push(new URL(request.url()).pathname));
    await unfold(tab, 'getOrder');
    const get = panel(tab, 'getOrder');
    await get.locator('.try-out__btn').click();
    const input = get.locator('input[placeholder="orderId"]');
    for (const id of ['9223372036854775808', '0', '-1', '1.5', 'one']) {
      await input.fill(id);
      await get.locator('.execute').click();
      await get.locator('input.invalid').waitFor();
    }
    await input.fill('9223372036854775807');
    await get.locator('.execute').click();
    await get.locator('.live-responses-table', { hasText: '"NOT_FOUND"' }).waitFor();
    expect(sent.filter((path) => path.startsWith('/store/'))).toEqual(['/store/orders/9223372036854775807']);
    await tab.leave('docs-limits', REFUSED);
  }, 60_000);

  it('hides "try it out" exactly where the specification disables it, and explains why', async () => {
    const tab = await kit.open('/docs');
    const { page } = tab;
    const description = new Description((await kit.gateway.call('/openapi.json')).text);
    const expected = Object.fromEntries(
      description.operations().map(({ operationId, operation }) => {
        const buttons = operation['x-explorer-enabled'] === false ? 0 : 1;
        return [operationId, { buttons, reasons: 1 - buttons }];
      }),
    );
    expect(expected).toMatchObject({ listOrders: { buttons: 0 }, createOrder: { buttons: 1 } });
    await panel(tab, 'getPet').waitFor();
    await page.locator('.opblock-summary-control').evaluateAll((controls) => {
      for (const control of controls) (control as HTMLElement).click();
    });
    await expect
      .poll(() => page.locator('.opblock .responses-wrapper').count(), { timeout: 15_000 })
      .toBe(Object.keys(expected).length);
    const shown = await page.locator('.opblock').evaluateAll((blocks) =>
      blocks.map((block) => [
        block.id.split('-').at(-1)!,
        {
          buttons: block.querySelectorAll('.try-out__btn').length,
          reasons: block.querySelectorAll('.not-tried').length,
        },
      ]),
    );
    expect(Object.fromEntries(shown)).toEqual(expected);
    await tab.see('The specification disables the try-it panel', '.not-tried');
    await tab.leave('docs-not-tried');
  }, 60_000);

  it('shows samples in curl, JavaScript and Python', async () => {
    const tab = await kit.open('/docs');
    await unfold(tab, 'createOrder');
    const samples = panel(tab, 'createOrder').locator('.samples');
    const expected = {
      curl: ['curl -X POST', '$KEY', '--data-raw'],
      JavaScript: ['await fetch(', "'X-API-Key': process.env.KEY", 'IEEE754Compatible=true'],
      Python: ['urllib.request.Request(', 'os.environ["KEY"]', 'method="POST"'],
    };
    for (const [language, parts] of Object.entries(expected)) {
      await samples.getByRole('button', { name: language, exact: true }).click();
      const text = await samples.innerText();
      for (const part of [...parts, '/store/orders', 'petId']) expect(text).toContain(part);
    }
    await tab.leave('docs-samples');
  }, 60_000);

  it('links an operation to its GraphQL equivalent in GraphiQL, and back', async () => {
    const tab = await kit.open('/docs', { key: kit.gateway.key });
    const { page } = tab;
    await unfold(tab, 'getCategory');
    await panel(tab, 'getCategory').getByText('The same in GraphQL').click();
    await tab.see('category(id: $categoryId)', '.graphql');
    await tab.picture('docs-graphql');
    await panel(tab, 'getCategory').getByRole('link', { name: 'Open in GraphiQL' }).click();
    await expect.poll(() => tab.editorText(), { timeout: 15_000 }).toContain('query getCategory(');
    await tab.run();
    await tab.see('"Dogs"', '.result-window');
    await page.getByRole('button', { name: 'Show Cost and REST' }).click();
    await page.getByRole('link', { name: 'getCategory in the REST docs' }).click();
    await panel(tab, 'getCategory').locator('.opblock-body').waitFor({ timeout: 15_000 });
    await tab.leave('docs-and-graphiql');
  }, 60_000);

  it('marks deprecated operations with the sunset date, and beta and experimental ones', async () => {
    const tab = await kit.open('/docs');
    await tab.page.locator('.opblock').first().waitFor();
    const badges = (operationId: string) => panel(tab, operationId).locator('.lifecycle').allTextContents();
    expect(await badges('getPet')).toEqual(['deprecated, sunset 2027-06-30']);
    expect(await badges('updatePet')).toEqual(['beta']);
    expect(await badges('listPetsOfCategory')).toEqual(['experimental']);
    expect(await badges('listPets')).toEqual([]);
    await tab.leave('docs-lifecycle');
  }, 60_000);

  it('shows the limits of a parameter and an example of each error', async () => {
    const tab = await kit.open('/docs');
    await unfold(tab, 'listPets');
    const limit = panel(tab, 'listPets').locator('tr[data-param-name="limit"]');
    expect(await limit.innerText()).toMatch(/minimum: 1\s+maximum: 100/);
    const { paths, components } = JSON.parse((await kit.gateway.call('/openapi.json')).text);
    for (const [status, response] of Object.entries<{ $ref?: string }>(paths['/pets'].get.responses)) {
      if (Number(status) < 400) continue;
      const { content } = components.responses[response.$ref!.split('/').at(-1)!];
      for (const [code, { value }] of Object.entries<{ value: { message: string } }>(
        content['application/json'].examples,
      )) {
        const row = panel(tab, 'listPets').locator(`.response[data-code="${status}"]`);
        const examples = row.locator('.examples-select-element');
        if ((await examples.count()) > 0) await examples.selectOption(code);
        await expect.poll(() => row.innerText()).toContain(value.message);
      }
    }
    await tab.leave('docs-errors');
  }, 60_000);

  it.each(['light', 'dark'] as const)(
    'fits a phone without horizontal scrolling (%s)',
    async (scheme) => {
      const tab = await kit.open('/docs', { width: 400, scheme, key: kit.gateway.key });
      const { page } = tab;
      for (const operationId of ['getPet', 'createOrder', 'listOrders']) await unfold(tab, operationId);
      await panel(tab, 'getPet').locator('.try-out__btn').click();
      await panel(tab, 'getPet').locator('.execute').click();
      await panel(tab, 'getPet').locator('.live-responses-table', { hasText: '"name": "Rex"' }).waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(background).toBe(scheme === 'dark' ? 'rgb(20, 25, 31)' : 'rgb(255, 255, 255)');
      await tab.leave(`docs-phone-${scheme}`);
    },
    60_000,
  );

  it('explains an exhausted budget, an invalid key and an unreachable server', async () => {
    const key = await kit.gateway.newKey('enterprise', { perMinute: 1, perDay: 100 });
    const tab = await kit.open('/docs', { key });
    const { page } = tab;
    await unfold(tab, 'getPet');
    const pet = panel(tab, 'getPet');
    await pet.locator('.try-out__btn').click();
    const execute = () => pet.locator('.execute').click();
    const response = pet.locator('.live-responses-table');
    await execute();
    await response.filter({ hasText: '"Rex"' }).waitFor();
    await execute();
    await response.filter({ hasText: 'The plan allows 1 requests per minute' }).waitFor();
    await tab.picture('docs-used-up');
    await page.getByLabel('API key').fill('broken');
    await page.keyboard.press('Enter');
    await tab.see('Unknown API key.', '#key-status');
    await execute();
    await response.filter({ hasText: 'A valid API key is required' }).waitFor();
    await page.route('**/pets/*', (route) => route.abort());
    await execute();
    await response.filter({ hasText: 'The server cannot be reached.' }).waitFor();
    await tab.leave('docs-away', /4\d\d|ERR_FAILED/);
  }, 60_000);
});

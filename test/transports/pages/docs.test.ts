import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { referenceOf } from '../../../src/transports/pages/explorer/docs/description.ts';
import type { Sample } from '../../../src/transports/pages/explorer/docs/samples.ts';
import { expectAccessible, expectSkipLink, type Tab, violationsOf, withBrowser } from '../../kit/browser.ts';
import { sqlite, useGateway } from '../../kit/petstore.ts';

/** Not representable as a double. */
const BIG = '9007199254740993';

withBrowser('REST docs', (kit) => {
  const section = (tab: Tab, operationId: string) => tab.page.locator(`section[id$="/${operationId}"]`);

  /** Opens the console of an operation. */
  async function tryOut(tab: Tab, operationId: string): Promise<void> {
    await section(tab, operationId).getByRole('button', { name: 'Test Request' }).click({ timeout: 15_000 });
    await send(tab).waitFor({ timeout: 15_000 });
  }
  const send = (tab: Tab) => tab.page.getByRole('button', { name: /^Send/ }).first();

  it('leads past the header by the first press of Tab', async () => {
    const tab = await kit.open('/docs');
    await expectSkipLink(tab);
    await tab.leave('docs-skip-link');
  }, 60_000);

  it('sends and shows ids beyond 2^53 exactly, with the key of the header and what is left of its budget', async () => {
    const key = await kit.gateway.newKey('enterprise', { perMinute: 2, perDay: 100 });
    const tab = await kit.open('/docs#/Store/createOrder', { key });
    const { page } = tab;
    await tab.see('Enterprise: 2 of 2 left this minute, 100 of 100 today', '#key-status');
    await tryOut(tab, 'createOrder');
    const editor = page.locator('[aria-label="Request body"]');
    await editor.fill(`{ "id": ${BIG}, "petId": 1 }`);
    // Scalar takes over what was typed with a delay.
    await page.waitForTimeout(500);
    await send(tab).click();
    await tab.see(BIG, '[aria-label="Response body"]');
    expect((await kit.gateway.call(`/store/orders/${BIG}`)).text).toContain(`"id":${BIG}`);
    await tab.see('1 of 2 left this minute, 99 of 100 today', '#key-status');
    await send(tab).click();
    await tab.see('"CONFLICT"', '[aria-label="Response body"]');
    await send(tab).click();
    await tab.see('"RATE_LIMITED"', '[aria-label="Response body"]');
    await tab.see('0 of 2 left this minute', '#key-status');
    // The page can be shared, because it does not contain the key.
    expect(await page.content()).not.toContain(key);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(key);
    await page.route('**/store/orders', (route) => route.abort());
    await send(tab).click();
    await tab.see('The server cannot be reached.');
    await tab.leave('docs-exact', /status of 4\d\d|ERR_FAILED|cannot be reached/);
  }, 60_000);

  it('shows events as they arrive, and frees the stream when it is stopped', async () => {
    const key = await kit.gateway.newKey('free');
    const tab = await kit.open('/docs#tag/Store/streamEvents', { key });
    const { page } = tab;
    await tryOut(tab, 'streamEvents');
    // More streams than a free key may have open at once.
    for (let attempt = 0; attempt < 3; attempt++) {
      await send(tab).click();
      await tab.see('Listening', '.scalar-client *');
      const { json } = await kit.gateway.call('/store/orders', { method: 'POST', body: {} });
      await tab.see(`"id":${json.id}`, '.scalar-client div');
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByText('Listening').waitFor({ state: 'hidden' });
    }
    // Scalar cancels a reader that it has released already.
    await tab.leave('docs-stream', /reader has been released/);
  }, 60_000);

  it('offers no console exactly where the specification disables it, and says why', async () => {
    const tab = await kit.open('/docs#tag/Store/listOrders', { key: kit.gateway.key });
    const { page } = tab;
    await tab.see('The specification disables the try-it panel', 'section[id$="/listOrders"] *');
    await section(tab, 'createOrder').getByRole('button', { name: 'Test Request' }).waitFor();
    const button = section(tab, 'listOrders').locator('.show-api-client-button');
    expect(await button.isVisible()).toBe(false);
    // Nor does the console send it when it is opened in another way.
    const sent: string[] = [];
    page.on('request', (request) => sent.push(new URL(request.url()).pathname));
    await button.dispatchEvent('click');
    await send(tab).click({ timeout: 15_000 });
    await tab.see('The specification disables the try-it panel', '.scalar-client *');
    expect(sent).not.toContain('/store/orders');
    await tab.leave('docs-not-tried', /disables the try-it panel/);
  }, 60_000);

  it('marks deprecated, beta and experimental operations, and leads to the same operation in GraphiQL and back', async () => {
    const tab = await kit.open('/docs#tag/Pets/getPet', { key: kit.gateway.key });
    const { page } = tab;
    await tab.see('sunset 2027-06-30', 'section[id$="/getPet"] *');
    await tab.see(/deprecated/i, 'section[id$="/getPet"] *');
    await page.goto(`${kit.gateway.url}/docs#tag/Pets/listPetsOfCategory`);
    await tab.see('experimental', 'section[id$="/listPetsOfCategory"] *');
    await page.goto(`${kit.gateway.url}/docs#tag/Pets/getCategory`);
    const category = section(tab, 'getCategory');
    await category.getByText('The same in GraphQL').click();
    await category.getByRole('link', { name: 'Open in GraphiQL' }).click();
    await expect.poll(() => tab.editorText(), { timeout: 15_000 }).toContain('query getCategory(');
    await tab.run();
    await tab.see('"Dogs"', '.result-window');
    await page.getByRole('button', { name: 'Show Cost and REST' }).click();
    await page.getByRole('link', { name: 'getCategory in the REST docs' }).click();
    await section(tab, 'getCategory').waitFor({ timeout: 15_000 });
    await tab.leave('docs-and-graphiql');
  }, 60_000);

  it('is accessible in any look, and on a phone with its console open', async () => {
    const tab = await kit.open('/docs#tag/Store/createOrder', { key: kit.gateway.key });
    await section(tab, 'createOrder').waitFor({ timeout: 15_000 });
    // The page is long, so that a look takes seconds.
    await expectAccessible(tab, 'docs', 'section[id*="/tag/"]:not([id$="/createOrder"])');
    await tab.page.setViewportSize({ width: 390, height: 900 });
    expect(await tab.page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await tryOut(tab, 'createOrder');
    const boxOf = (selector: string) => tab.page.locator(selector).first().boundingBox();
    const [address, toggle] = [await boxOf('.address-bar-bg-states'), await boxOf('.scalar-sidebar-toggle')];
    expect(toggle!.y).toBeGreaterThanOrEqual(address!.y + address!.height);
    await send(tab).click();
    await tab.see('"petId"', '[aria-label="Response body"]');
    await tab.picture('docs-console');
    expect(await violationsOf(tab)).toEqual([]);
    await tab.leave('docs-console');
  }, 120_000);
});

describe('the description shown in the REST docs', () => {
  const kit = useGateway(sqlite);
  const load = async () => {
    const { text } = await kit.gateway.call('/openapi.json', { key: null });
    const { json } = await kit.gateway.call('/explorer/operations.json', { key: null });
    // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI description
    const description: any = referenceOf(text, {
      operations: json,
      hasGraphiql: true,
      origin: kit.gateway.url,
    });
    return description;
  };

  it('says the largest id exactly', async () => {
    const { components } = await load();
    expect(components.schemas.Pet.properties.id.description).toContain('Up to 9223372036854775807.');
    expect(components.schemas.Pet.properties.id.maximum).toBeUndefined();
  });

  it('has one table of errors, and links each operation to it', async () => {
    const { info, paths } = await load();
    expect(info.description).toMatch(
      /## Errors[\s\S]*\| 409 \| `CONFLICT` \|[\s\S]*\| 429 \| `RATE_LIMITED` \|/,
    );
    for (const [path, methods] of Object.entries(paths)) {
      for (const operation of Object.values(methods as Record<string, { description: string }>))
        expect(operation.description, path).toMatch(/\[Errors\]\(#description\/errors\): `BAD_REQUEST`/);
    }
    expect(Object.keys(paths['/pets'].post.responses)).toEqual(['201']);
  });

  it('has samples in curl, JavaScript and Python that run, and show the body of an error', async () => {
    const { paths } = await load();
    const run = (command: string, args: string[], KEY: string) =>
      promisify(execFile)(command, args, { env: { ...process.env, KEY } });
    const runSample = async (path: string, method: string, label: string, key: string) => {
      const samples = paths[path][method]['x-codeSamples'] as Sample[];
      const { source } = samples.find((sample) => sample.label === label)!;
      const program = {
        curl: ['bash', '-c'],
        JavaScript: ['node', '--input-type=module', '-e'],
        Python: ['python3', '-c'],
      };
      const [command, ...args] = program[label as 'curl'];
      return (await run(command!, [...args, source], key)).stdout;
    };
    for (const label of ['curl', 'JavaScript', 'Python']) {
      expect(await runSample('/categories', 'post', label, kit.gateway.key), label).toContain('"name":"');
      expect(await runSample('/store/orders', 'post', label, kit.gateway.key), label).toContain(
        '"UNKNOWN_REFERENCE"',
      );
      expect(await runSample('/pets', 'get', label, 'wrong'), label).toContain('"UNAUTHENTICATED"');
    }
  }, 60_000);
});

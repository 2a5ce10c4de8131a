import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { api } from '../../src/api.ts';
import { addSampleData } from '../../src/sample.ts';
import { Clock, TestGateway } from './gateway.ts';
import { engines, type OpenedStore } from './stores.ts';

/** Chromium without windows, which takes two thirds of the time, or else the one for people. */
const usual = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const executablePath = process.env.CHROMIUM ?? usual.find(existsSync) ?? usual[0]!;
const isInstalled = existsSync(executablePath);
if (!isInstalled) {
  const message = `No Chromium at ${executablePath}: the pages are not tested in a browser. apt-get install chromium-headless-shell, or set CHROMIUM.`;
  // Where everything else is installed, this has to be too.
  if (process.env.CI || process.env.REQUIRE_MONGO) throw new Error(message);
  console.warn(`!!! ${message}`);
}

const atLength = process.env.AT_LENGTH === '1';

/** If set to a folder, screenshots are saved there. */
const shots = process.env.SCREENSHOTS;

/** How long to wait for something to become visible. */
const TIMEOUT = 15_000;

export interface Opening {
  width?: number;
  scheme?: 'light' | 'dark';
  /** Set before the page loads, as an earlier page of the session would have done. */
  key?: string;
}

/** A page under test, with its errors. */
export class Tab {
  readonly page: Page;
  readonly #url: string;
  /** Policy violations, errors and failed requests. */
  readonly complaints: string[] = [];
  /** Requests to other hosts. */
  readonly #abroad: string[] = [];

  constructor(page: Page, url: string) {
    this.page = page;
    this.#url = url;
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${url}/`))
        this.#abroad.push(request.url());
    });
  }

  async goto(path: string): Promise<void> {
    await this.page.goto(this.#url + path);
  }

  /** Waits until a text is visible. */
  see(text: string | RegExp, selector = 'body *'): Promise<void> {
    return this.page
      .locator(selector)
      .filter({ hasText: text, visible: true })
      .first()
      .waitFor({ timeout: TIMEOUT });
  }

  /** The content of the operation editor. Monaco renders spaces as non-breaking ones. */
  async editorText(): Promise<string> {
    const lines = await this.page
      .locator('.graphiql-query-editor .view-lines')
      .innerText({ timeout: TIMEOUT });
    return lines.replaceAll('\u00a0', ' ');
  }

  /** Replaces the content of the operation editor. */
  async write(query: string, editor = '.graphiql-query-editor'): Promise<void> {
    const input = this.page.locator(`${editor} textarea`).first();
    await input.focus({ timeout: TIMEOUT });
    await this.page.keyboard.press('Control+A');
    // Pasted, because the editor would close brackets and complete names while typing.
    await input.evaluate((element, text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', text);
      element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    }, query);
  }

  async run(): Promise<void> {
    // GraphiQL ignores the button until its editors have loaded.
    for (const editor of ['.graphiql-query-editor', '.result-window'])
      await this.page.locator(`${editor} .view-lines`).waitFor({ state: 'attached', timeout: TIMEOUT });
    // While it runs, the same button stops it.
    await this.page.locator('.graphiql-execute-button[aria-label^="Execute"]').click({ timeout: TIMEOUT });
  }

  get answer(): Locator {
    return this.page.locator('.result-window');
  }

  /** Enters a key in the header of the page; an empty one takes it away. */
  async useKey(key: string): Promise<void> {
    await this.page.locator('#key').fill(key);
    await this.page.keyboard.press('Enter');
  }

  async picture(name: string): Promise<void> {
    if (!shots) return;
    mkdirSync(shots, { recursive: true });
    await this.page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
  }

  /**
   * Ends a test of a page. Fails if the page has sent requests to other hosts, or reported errors since the last test.
   *
   * @param expected errors that were provoked, such as the browser's own message about a 401
   */
  async done(name: string, expected?: RegExp): Promise<void> {
    await this.picture(name);
    expect(this.complaints.splice(0).filter((complaint) => !expected?.test(complaint))).toEqual([]);
    expect(this.#abroad).toEqual([]);
  }

  /** Ends a test and closes the page. */
  async leave(name: string, expected?: RegExp): Promise<void> {
    await this.done(name, expected);
    await this.page.context().close();
  }
}

/** The browser's own message about a 4xx response. */
export const REFUSED = /Failed to load resource: the server responded with a status of 4\d\d/;

export interface BrowserKit {
  gateway: TestGateway;
  browser: Browser;
  open(path: string, look?: Opening): Promise<Tab>;
}

/** The clock of this machine, which the browser shares. */
class RealClock extends Clock {
  override readonly now = Date.now;
  override readonly monotonic = () => performance.now();
}

/** A browser and a gateway with sample data and, as in production, no development key. */
export function withBrowser(
  name: string,
  tests: (kit: BrowserKit) => void,
  environment: Record<string, string> = {},
): void {
  describe.skipIf(!isInstalled)(name, () => {
    const kit = {} as BrowserKit;
    let opened: OpenedStore;
    beforeAll(async () => {
      opened = await engines[0]!.open();
      await addSampleData(opened.store, api);
      kit.gateway = await TestGateway.start(opened.store, environment, new RealClock());
      kit.browser = await launch();
      kit.open = (path, look) => openTab(kit.browser, kit.gateway.url, path, look);
    });
    afterAll(async () => {
      await kit.gateway?.close();
      await opened?.close();
    });
    tests(kit);
  });
}

/** Opens a URL with a fresh profile. */
export async function openTab(
  browser: Browser,
  url: string,
  path: string,
  { width = 1280, scheme = 'light', key }: Opening = {},
): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  if (key !== undefined) {
    await context.addInitScript({
      content: `if (!sessionStorage.getItem('petstore.key')) sessionStorage.setItem('petstore.key', ${JSON.stringify(key)})`,
    });
  }
  const tab = new Tab(await context.newPage(), url);
  await tab.goto(path);
  return tab;
}

let launched: Promise<Browser> | undefined;

/** The browser of this worker, which all test files that run in it share. It ends with the process. */
function launch(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  return launched;
}

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

/**
 * Critical and serious violations of the Web Content Accessibility Guidelines, one line each.
 *
 * @param except a selector of elements to leave out at the usual length, of which others of the same kind are looked at
 * @param within a selector of what is new since the last look at the page
 */
export async function violationsOf({ page }: Tab, except?: string, within = 'html'): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  // Wait for transitions and animations that end, since colours on their way distort the contrast.
  await page.evaluate(async () => {
    const ending = document
      .getAnimations()
      .filter(
        ({ playState, effect }) =>
          playState === 'running' && Number.isFinite(effect?.getComputedTiming().endTime),
      );
    await Promise.allSettled(ending.map(({ finished }) => finished));
  });
  const exclude = except === undefined || atLength ? [] : [except];
  const context = JSON.stringify({ include: [within], exclude });
  // What would be preloaded is for rules about media, of which there are none, and for one that is not run.
  const { violations } = (await page.evaluate(
    `axe.run(${context}, { resultTypes: ["violations"], preload: false })`,
  )) as AxeResults;
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

/** Presses Tab until an element that matches the selector has the focus, which is to be seen all the way. */
export async function tabTo({ page }: Tab, selector: string, maxPresses = 80): Promise<void> {
  for (let presses = 0; presses < maxPresses; presses++) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
    await page.keyboard.press('Tab');
    expect(
      await page
        .locator(':focus')
        .evaluateAll((focused) =>
          focused.map(
            (each) =>
              each.getBoundingClientRect().height > 0 &&
              [getComputedStyle(each).outlineStyle, getComputedStyle(each).boxShadow].some(
                (style) => style !== 'none',
              ),
          ),
        ),
      'each stop of Tab has a size and a ring',
    ).not.toContain(false);
  }
  throw new Error(`The keyboard does not reach ${selector}.`);
}

/** Expects that the first press of Tab on a page that was just opened leads past its header. */
export async function expectSkipLink({ page }: Tab): Promise<void> {
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.className)).toBe('skip');
  await page.keyboard.press('Enter');
  // Playwright is told of it a moment later.
  await expect.poll(() => new URL(page.url()).hash).toBe('#main');
  expect(await page.locator('#main').count()).toBe(1);
}

/** The ways to look at a page: widths of a phone, a laptop and a large screen; light and dark by the system and by choice. */
const LAPTOP = { width: 1280, system: 'light', choice: 'dark' } as const;
export const PHONE = { width: 390, system: 'dark', choice: 'light' } as const;
const OTHERS = [
  { width: 1280, system: 'light', choice: 'system' },
  { width: 390, system: 'dark', choice: 'system' },
  { width: 1920, system: 'dark', choice: 'system' },
  { width: 1920, system: 'light', choice: 'system' },
] as const;
type Look = (typeof OTHERS)[number] | typeof LAPTOP | typeof PHONE;

/** All of them at length, else the dark laptop and the light phone. */
export const LOOKS: readonly [Look, ...Look[]] = [LAPTOP, PHONE, ...(atLength ? OTHERS : [])];

/** Shows an open page in this way. */
export async function takeOn({ page }: Tab, { width, system, choice }: Look): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: system });
  await page.locator('#theme').selectOption(choice);
}

/** Looks at an open page in these ways: nothing serious is found and nothing is wider than the window. */
export async function expectAccessible(
  tab: Tab,
  name: string,
  except?: string,
  looks = LOOKS,
): Promise<void> {
  for (const one of looks) {
    await takeOn(tab, one);
    const { width, system, choice } = one;
    const look = `${name}, ${width} px, ${system} system, ${choice} chosen`;
    // Editors colour their text anew a moment after the theme changes.
    await expect.poll(() => violationsOf(tab, except), { message: look }).toEqual([]);
    expect(await tab.page.evaluate(() => document.documentElement.scrollWidth), look).toBe(width);
    await tab.picture(look.replaceAll(/,? /g, '-'));
  }
}

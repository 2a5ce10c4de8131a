import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../src/api.ts';
import { PLANS } from '../src/access/plans.ts';
import { readConfig, VARIABLE_NAMES } from '../src/config.ts';
import { ERRORS } from '../src/foundation/errors.ts';
import { addSampleData } from '../src/sample.ts';
import { stockByCategory } from './clients/graphql-client.ts';
import { TestGateway } from './kit/gateway.ts';
import { engines } from './kit/stores.ts';

const page = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
const readme = page('README.md');
const interfacePage = page('docs/interface.md');
const [embedded] = engines;
let gateway: TestGateway;
let close: () => Promise<void>;

beforeAll(async () => {
  const opened = await embedded!.open();
  await addSampleData(opened.store, api);
  gateway = await TestGateway.start(opened.store);
  close = async () => {
    await gateway.close();
    await opened.close();
  };
});

afterAll(() => close());

describe('the examples of README.md and docs/tasks.md', () => {
  const examples = [
    ...(readme + page('docs/tasks.md')).matchAll(/```sh\n(curl[^`]*)```\n+```json\n([^`]*)```/g),
  ].map(([, command, output]) => ({ command: command!, output: output! }));

  it('are more than 5 curl commands with their output', () => {
    expect(examples.length).toBeGreaterThan(5);
  });

  // In their order, as somebody who reads runs them. The log of requests has ids and times.
  it.each(examples.filter(({ output }) => !output.includes('"time"')))(
    'show the actual output of $command',
    async ({ command, output }) => {
      const { stdout } = await promisify(execFile)(
        'bash',
        ['-c', command.replaceAll('http://localhost:4000', gateway.url)],
        { env: { ...process.env, URL: gateway.url, KEY: gateway.key } },
      );
      expect(stdout).toBe(output.trim());
    },
  );
});

describe('docs/clients.md', () => {
  it('has a GraphQL client that reads nested data with a typed document', async () => {
    expect(await stockByCategory(gateway.url, gateway.key)).toEqual([
      // An example above sells one.
      expect.stringMatching(/^Dogs: Rex [23], Bella 1$/),
      'Cats: Mimi 2, Tom 5',
    ]);
  });
});

describe('the table "From REST to GraphQL"', () => {
  const rows = [
    ...page('docs/clients.md').matchAll(/^\| `(GET|POST|PUT|PATCH|DELETE) [^|]*\| `([^`]+)` \|$/gm),
  ];
  const queries = rows.map(([, method, selection]) => ({
    operation: method === 'GET' ? 'query' : 'mutation',
    selection,
  }));

  it('has more than 8 rows', () => {
    expect(rows.length).toBeGreaterThan(8);
  });

  // Deletions run last, so that the other rows find their records.
  it.each(
    queries.toSorted(
      (a, b) => Number(a.selection!.startsWith('delete')) - Number(b.selection!.startsWith('delete')),
    ),
  )('lists a working $operation: $selection', async ({ operation, selection }) => {
    const reply = await gateway.graphql(`${operation} { ${selection} }`);
    expect({ status: reply.status, refusal: reply.json.errors?.[0].extensions.code }).toEqual({
      status: 200,
      // An incomplete order refers to the first sample pet, so it cannot be deleted.
      refusal: selection!.startsWith('deletePet') ? 'CONFLICT' : undefined,
    });
  });
});

it('lists exactly the configuration variables, with their defaults, in docs/operating.md', () => {
  const manual = page('docs/operating.md');
  const table = manual.slice(manual.indexOf('## Configuration'), manual.indexOf('## Commands'));
  const rows = [...table.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)];
  expect(rows.map(([, name]) => name).toSorted()).toEqual([...VARIABLE_NAMES].toSorted());
  const defaults = readConfig({}) as Record<string, unknown>;
  for (const [, name, text] of rows) {
    const documented = /^`([^`]*)`$/.exec(text!)?.[1];
    if (documented === undefined) continue;
    expect(readConfig({ [name!]: documented }), name).toEqual(defaults);
  }
});

it('lists every error code with its status and meaning in docs/interface.md', () => {
  const rows = [...interfacePage.matchAll(/^\| (\d{3}) \| `([A-Z_]+)` \| (.+) \|$/gm)];
  expect(
    Object.fromEntries(rows.map(([, status, code, when]) => [code, { status: Number(status), when }])),
  ).toEqual(ERRORS);
});

it('states the limits of the plans in the README and docs/interface.md', () => {
  const number = (value: number | undefined) => value?.toLocaleString('en');
  for (const text of [readme, interfacePage]) {
    const rows = [...text.matchAll(/^\| (free|pro|business) \| ([\d,]+) \| ([\d,]+)/gm)];
    expect(rows.map(([, ...row]) => row)).toEqual(
      (['free', 'pro', 'business'] as const).map((plan) => [
        plan,
        number(PLANS[plan].limits?.perMinute),
        number(PLANS[plan].limits?.perDay),
      ]),
    );
  }
});

it('states all that a plan allows in docs/interface.md', () => {
  const rows = [...interfacePage.matchAll(/^\| (free|pro|business|enterprise) \| (.+) \|$/gm)];
  expect(rows.map(([, plan, cells]) => [plan, cells!.split(' | ')])).toEqual(
    Object.entries(PLANS).map(([plan, { limits, mutationsPerSecond, streams, webhooks }]) => [
      plan,
      [
        ...(limits ? [limits.perMinute, limits.perDay] : ['by key', 'by key']),
        mutationsPerSecond ?? 'unlimited',
        streams,
        webhooks,
      ].map((value) => value.toLocaleString('en')),
    ]),
  );
});

it('keeps the README within 120 lines of at most 120 characters', () => {
  const lines = readme.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(120);
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
});

describe('every link', () => {
  const NAMES = [
    'README.md',
    ...readdirSync(new URL('../docs', import.meta.url))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];

  /** The anchors that GitHub gives to the headings of a page. */
  const anchorsOf = (text: string): string[] =>
    [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );

  it.each(NAMES)('leads from %s to an existing file or heading', (name) => {
    const targets = [...page(name).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, target]) => target!);
    const broken = targets.filter((target) => {
      const [path, anchor] = target.split('#');
      const file = path === '' ? name : join(dirname(name), path!);
      if (!existsSync(new URL(`../${file}`, import.meta.url))) return true;
      return anchor !== undefined && !anchorsOf(page(file)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

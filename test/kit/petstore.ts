import { parse, stringify } from 'lossless-json';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { ERRORS, type ErrorCode } from '../../src/foundation/errors.ts';
import { inputFields } from '../../src/foundation/record-input.ts';
import { type Call, Clock, type Reply, TestGateway } from './gateway.ts';
import { type Engine, engines, enginesAtLength, type OpenedStore } from './stores.ts';

/** As messages name them. */
export const PET_FIELDS = Object.keys(inputFields(Pet)).join(', ');

/** A reply and its request, for the output of failed tests. */
export interface Sent extends Reply {
  about: string;
}

/** Sends a request such as `GET /pets`; GET is the default method. */
export async function send(
  gateway: TestGateway,
  line: string,
  call: Omit<Call, 'method'> = {},
): Promise<Sent> {
  const space = line.indexOf(' ');
  const [method, path] = space < 0 ? ['GET', line] : [line.slice(0, space), line.slice(space + 1)];
  const reply = await gateway.call(path, { ...call, method });
  return { ...reply, about: describeCall(line, call, reply) };
}

/** Sends a GraphQL operation as a JSON POST. */
export const query = (
  gateway: TestGateway,
  text: string,
  variables?: Record<string, unknown>,
  call: Omit<Call, 'method'> = {},
): Promise<Sent> =>
  send(gateway, 'POST /graphql', {
    ...call,
    body: stringify({ query: text, variables }) as string,
    headers: { 'content-type': 'application/json', ...call.headers },
  });

function describeCall(line: string, { headers = {}, body }: Omit<Call, 'method'>, reply: Reply): string {
  const shown = Buffer.isBuffer(body)
    ? body.toString('latin1')
    : typeof body === 'string'
      ? body
      : stringify(body);
  return [
    '',
    line,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(shown === undefined ? [] : [shown.slice(0, 4_000)]),
    `→ ${reply.status} ${reply.text.slice(0, 4_000)}`,
    `request id ${reply.headers['x-request-id']}`,
    '',
  ].join('\n');
}

/**
 * Parses JSON with numbers as literals: nothing is rounded, `1` and `1.0` differ, and the order of fields is
 * irrelevant.
 */
export const exactly = (text: string): unknown =>
  parse(text, undefined, { parseNumber: (literal) => `#${literal}` });

/** @param body JSON text, or a value in which bigints become integers */
export function expectAnswer(sent: Sent, status: number, body?: unknown): void {
  expect(sent.status, sent.about).toBe(status);
  if (body === undefined) return;
  const text = typeof body === 'string' ? body : stringify(body)!;
  expect(sent.text, sent.about).not.toBe('');
  expect(exactly(sent.text), sent.about).toStrictEqual(exactly(text));
  expect(sent.headers['content-type'], sent.about).toBe('application/json');
}

/** Expects REST's error format (docs/interface.md, "Errors"). `message` is the full text or a pattern. */
export function expectRefusal(sent: Sent, code: ErrorCode, message?: string | RegExp): void {
  const { status } = ERRORS[code];
  expect(sent.json?.code, sent.about).toBe(code);
  expect(sent.status, sent.about).toBe(status);
  expect(sent.headers['content-type'], sent.about).toBe('application/json');
  expect(sent.json, sent.about).toStrictEqual({ code, message: expect.any(String), status });
  expectMessage(sent.json.message, message, sent.about);
}

/**
 * Expects errors before execution: `errors` without `data`, each with code and status (docs/interface.md,
 * "Errors").
 */
export function expectQueryRefusal(sent: Sent, code: ErrorCode, message?: string | RegExp): void {
  const { status } = ERRORS[code];
  const fields = expect.arrayContaining([{ path: expect.any(String), message: expect.any(String) }]);
  expect(sent.json?.errors?.[0]?.extensions, sent.about).toStrictEqual({
    code,
    status,
    ...(code === 'VALIDATION_FAILED' && { fields }),
  });
  expect(sent.status, sent.about).toBe(status);
  expect(sent.json, sent.about).not.toHaveProperty('data');
  expectMessage(sent.json.errors[0].message, message, sent.about);
}

function expectMessage(actual: string, expected: string | RegExp | undefined, about: string): void {
  expect(actual, about).not.toBe('');
  if (typeof expected === 'string') expect(actual, about).toBe(expected);
  else if (expected) expect(actual, about).toMatch(expected);
}

/** The data of an operation, which must succeed. */
export function dataOf(sent: Sent) {
  expect(sent.json?.errors, sent.about).toBeUndefined();
  expect(sent.status, sent.about).toBe(200);
  return sent.json.data;
}

/** The gateway for the tests of one `describe`, available from `beforeAll` on. */
export interface Kit {
  gateway: TestGateway;
  clock: Clock;
  opened: OpenedStore;
  /** Set by tests that provoke an error on purpose. Otherwise no error may be logged. */
  faultsExpected?: boolean;
}

/** Starts a gateway with a new store for the tests of this `describe`, and stops it afterwards. */
export function useGateway(engine: Engine, environment: Record<string, string> = {}, served = api): Kit {
  const kit = {} as Kit;
  beforeAll(async () => {
    kit.clock = new Clock();
    kit.opened = await engine.open(kit.clock.now, { served });
    kit.gateway = await TestGateway.start(kit.opened.store, environment, kit.clock, { api: served });
  });
  afterAll(async () => {
    await kit.gateway?.close();
    await kit.opened?.close();
    if (kit.gateway && !kit.faultsExpected)
      expect(kit.gateway.logs.filter((line) => line.includes('"level":50'))).toEqual([]);
  });
  return kit;
}

/** Runs the same tests on every engine, each with a gateway and a new store. */
export function onEachEngine(name: string, tests: (kit: Kit, engine: Engine) => void, served = api): void {
  describe.each(engines)(`${name} ($name)`, (engine) => tests(useGateway(engine, {}, served), engine));
}

/** The same on the embedded engine alone, and at length on every engine: for what is decided above the store. */
export function onAnyEngine(name: string, tests: (kit: Kit, engine: Engine) => void): void {
  describe.each(enginesAtLength)(`${name} ($name)`, (engine) => tests(useGateway(engine), engine));
}

/** The embedded engine, for tests that do not depend on the store. */
export const sqlite = engines[0]!;

/** Records to test with, named by the letters that stand for their ids. */
export interface World {
  /** A category with a description and two pets. */
  C: string;
  /** An empty category without a description. */
  E: string;
  /** A sold pet in C with a stock of 5, which the incomplete order O refers to. */
  P: string;
  /** An available pet in C without orders. */
  F: string;
  /** An incomplete order of 2 P. */
  O: string;
  /** An order without any values. */
  B: string;
}

export async function makeWorld({ gateway: { store } }: Kit): Promise<World> {
  const { id: C } = await store.table(Category).insert({ name: 'Dogs', description: 'They bark' });
  const { id: E } = await store.table(Category).insert({ name: 'Fish' });
  const { id: P } = await store.table(Pet).insert({ name: 'Rex', categoryId: C, status: 'sold' });
  await store.table(Pet).update(P, { quantity: 5 });
  const { id: F } = await store.table(Pet).insert({ name: 'Fifi', categoryId: C, status: 'available' });
  const { id: O } = await store.table(Order).insert({
    petId: P,
    quantity: 2,
    shipDate: '2026-01-31T09:30:00Z',
    complete: false,
  });
  const { id: B } = await store.table(Order).insert({ complete: false });
  return { C, E, P, F, O, B };
}

/** Replaces `$C`, `$P` and so on with ids. */
export const fill = (text: string, ids: object): string =>
  text.replace(/\$([A-Z])\b/g, (_, letter: string) => String((ids as Record<string, string>)[letter]));

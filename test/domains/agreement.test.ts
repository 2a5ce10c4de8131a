import fc from 'fast-check';
import { stringify } from 'lossless-json';
import { expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import type { Field } from '../../src/foundation/fields.ts';
import { inputFields } from '../../src/foundation/record-input.ts';
import type { AnyDeclaration } from '../../src/foundation/record.ts';
import { prefixFields } from '../../src/schema/list-arguments.ts';
import type { QueryParameter } from '../../src/rest-routes/parameter.ts';
import { hasOwnVariables, type Route } from '../../src/rest-routes/route.ts';
import { cases } from '../kit/cases.ts';
import {
  exactly,
  type Kit,
  onEachEngine,
  query,
  type Sent,
  send,
  sqlite,
  useGateway,
} from '../kit/petstore.ts';

/**
 * Sends random sequences of all operations of the domains to two gateways: over REST to one with the embedded store, and
 * the GraphQL operations of the same rows to one with each engine. Results and errors must be the same, and each interface
 * must read what the other wrote.
 */

/** A PUT removes what it leaves out, for which GraphQL has no operation of its own. */
const ROWS: ReadonlyMap<string, { record: AnyDeclaration; route: Route }> = new Map(
  api.domains.flatMap(({ record, resource }) =>
    resource.routes
      .filter(({ method }) => method !== 'PUT')
      .map((route) => [route.operationId, { record, route }] as const),
  ),
);

type Values = Record<string, unknown>;
/** A call, in which other records are given by their position among those created so far. */
interface Step {
  operation: string;
  at: number;
  parameters: Values;
  body?: Values;
}
/** The ids of the records created so far, by kind. */
type Created = Record<string, string[]>;

const MISSING = '9223372036854775806';
const position = fc.integer({ min: -1, max: 3 });
const pick = (created: Created, kind: string, at: unknown): string =>
  created[kind]?.at(Number(at) % created[kind].length) ?? MISSING;

function anyValue({ kind, choices, range, reference }: Field): fc.Arbitrary<unknown> {
  if (reference) return position;
  if (choices) return fc.constantFrom(...choices.values);
  if (range) return fc.constantFrom(range[0], 7, range[1], range[0] - 1);
  if (kind === 'boolean') return fc.boolean();
  if (kind === 'instant') return fc.constantFrom('2026-01-31T09:30:00Z', '2026-01-31T09:30:00.250+02:00');
  if (kind === 'date') return fc.constantFrom('2026-01-31', '2026-02-30');
  return fc.constantFrom('', 'Rex', ' Zoë 🐕 ', '"\\', 'x'.repeat(200));
}

const isFinder = (record: AnyDeclaration, name: string): boolean =>
  prefixFields(record).some(([finder]) => finder === name);

function anyParameter(
  { name, schema, bounds }: QueryParameter,
  record: AnyDeclaration,
): fc.Arbitrary<unknown> {
  if (name === 'limit') return fc.constantFrom(1, 2, 100);
  if (name === 'sort') return fc.constantFrom(...(schema.enum as string[]));
  if (name === 'after') return position;
  if (name === 'by') return fc.subarray([...(schema.enum as string[])], { minLength: 1 });
  const field: Field = record.fields[bounds ?? name];
  // Messages name an end as the interface does.
  if (bounds !== undefined)
    return anyValue(field).filter((value) => field.range === undefined || value !== field.range[0] - 1);
  if (field.choices) return fc.subarray([...field.choices.values], { minLength: 1 });
  return isFinder(record, name) ? fc.constantFrom('r', 'ZOË') : anyValue(field);
}

const anyStep: fc.Arbitrary<Step> = fc.constantFrom(...ROWS.keys()).chain((operation) => {
  const { record, route } = ROWS.get(operation)!;
  const fields = Object.entries<Field>(record.fields).filter(
    ([name]) => name in (route.body?.rules.shape ?? {}),
  );
  const isNew = route.method === 'POST';
  const body = fields.map(([name, field]): [string, fc.Arbitrary<unknown>] => [
    name,
    !isNew && field.presence === 'optional' ? fc.option(anyValue(field)) : anyValue(field),
  ]);
  // Arguments that no record has are differences.
  const differences = Object.keys(route.body?.rules.shape ?? {}).filter(
    (name) => name !== 'id' && !(name in record.fields),
  );
  for (const name of differences) body.push([name, fc.constantFrom(-1, 0, 3, 2 ** 31 - 1)]);
  const requiredKeys = fields
    .filter(([, { presence, view }]) => view !== undefined || (isNew && presence === 'required'))
    .map(([name]) => name)
    .concat(differences);
  const parameters = (route.query ?? []).map((parameter) => [
    parameter.name,
    anyParameter(parameter, record),
  ]);
  return fc.record({
    operation: fc.constant(operation),
    at: position,
    parameters: fc
      .record(Object.fromEntries(parameters), {
        requiredKeys: (route.query ?? []).flatMap(({ name, required }) => (required ? [name as never] : [])),
      })
      .map((drawn) => consistent(record, drawn)),
    ...(route.body && {
      body: fc.record(Object.fromEntries(body), { requiredKeys }) as fc.Arbitrary<Values>,
    }),
  });
});

/** One record of each kind, with the examples of its declaration, so that there is something to read and change. */
const FIRST_STEPS = api.records.map((record): Step => {
  const fields = Object.entries<Field>(inputFields(record));
  const body = fields.map(([name, { example, reference }]) => [name, reference ? 0 : example]);
  return { operation: `create${record.type}`, at: -1, parameters: {}, body: Object.fromEntries(body) };
});

/** Records are found by one text in its order, and ids are places of lists in the order of ids. */
function consistent(record: AnyDeclaration, { sort, after, ...others }: Values): Values {
  const [first, ...more] = Object.keys(others).filter((name) => isFinder(record, name));
  for (const name of more) delete others[name];
  if (first !== undefined) return others;
  const range = Object.keys(others).find((name) => /M(in|ax)$/.test(name));
  if (range !== undefined) return others;
  return { ...others, ...(sort === undefined ? after !== undefined && { after } : { sort }) };
}

/** Replaces positions by ids. */
function withIds(
  { operation }: Step,
  values: Values,
  created: Created,
  write: (id: string) => unknown,
): Values {
  const { record } = ROWS.get(operation)!;
  const entries = Object.entries(values).map(([name, value]) => {
    const kind = name === 'after' ? record.kind : (record.fields[name] as Field)?.reference?.parent.kind;
    return [name, kind && value !== null ? write(pick(created, kind, value)) : value];
  });
  return Object.fromEntries(entries);
}

function overRest({ gateway }: Kit, step: Step, created: Created): Promise<Sent> {
  const { at, body, operation } = step;
  const { route } = ROWS.get(operation)!;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(withIds(step, step.parameters, created, String)))
    for (const text of [value].flat()) parameters.append(name, String(text));
  const path = route.path.replace(/\{.*\}/, pick(created, route.kind, at));
  return send(gateway, `${route.method} ${path}${parameters.size > 0 ? `?${parameters}` : ''}`, {
    ...(body && { body: stringify(withIds(step, body, created, BigInt))! }),
  });
}

const inputOf = (route: Route, input: Values): Values => (hasOwnVariables(route) ? input : { input });

function overGraphql({ gateway }: Kit, step: Step, created: Created): Promise<Sent> {
  const { at, body, operation } = step;
  const { route } = ROWS.get(operation)!;
  const { sort, ...parameters } = withIds(step, step.parameters, created, String);
  return query(gateway, route.document, {
    ...parameters,
    ...(sort !== undefined && {
      sort: `${String(sort).replace('-', '')}_${`${sort}`.startsWith('-') ? 'desc' : 'asc'}`,
    }),
    ...(route.pathParameter && { [route.pathParameter]: pick(created, route.kind, at) }),
    ...(body && inputOf(route, withIds(step, body, created, String))),
  });
}

interface Outcome {
  code?: string;
  message?: string;
}

const withoutAbsent = (record: Values): Values =>
  Object.fromEntries(
    Object.entries(record)
      .filter(([, value]) => value !== null)
      // An id is a number in REST and text in GraphQL.
      .map(([name, value]) => [name, /^id$|Id$/.test(name) ? String(value).replace('#', '') : value]),
  );

/** The outcome of a call in a form common to both interfaces. */
function outcomeOf({ text, headers }: Sent): Outcome | Values {
  // oxlint-disable-next-line typescript/no-explicit-any -- a response body of either interface
  const body = text === '' ? { data: { deleted: true } } : (exactly(text) as any);
  if (Array.isArray(body)) return { list: body.map(withoutAbsent), more: headers.link !== undefined };
  const { code, message, data, errors } = body;
  if (typeof code === 'string') return { code, message };
  if (errors) return { code: errors[0].extensions.code, message: errors[0].message };
  if (!data) return withoutAbsent(body);
  if ('deleted' in data) return { deleted: true };
  const page = data.page ?? data.parent?.page;
  if (Array.isArray(page)) return { list: page.map(withoutAbsent), more: false };
  if (page) return { list: page.nodes.map(withoutAbsent), more: page.pageInfo.hasNextPage };
  return data.result ? withoutAbsent(data.result) : { code: 'NOT_FOUND' };
}

function expectSame(step: Step, rest: Sent, graphql: Sent): void {
  const about = `${step.operation}${rest.about}${graphql.about}`;
  expect(rest.status, about).toBeLessThan(500);
  const expected = outcomeOf(rest);
  const actual = outcomeOf(graphql);
  // A GraphQL query returns null for a missing record, without a message.
  if (actual.code === 'NOT_FOUND' && actual.message === undefined) delete expected.message;
  expect(actual, about).toEqual(expected);
}

onEachEngine('REST and GraphQL', (kit, engine) => {
  const reference = useGateway(sqlite);

  it('return the same results and errors for random sequences of operations', async () => {
    const property = fc.asyncProperty(
      fc.array(anyStep, { minLength: 1, maxLength: 20, size: 'max' }),
      async (steps) => {
        const created: Created = {};
        for (const step of [...FIRST_STEPS, ...steps]) {
          const sent = await overRest(reference, step, created);
          expectSame(step, sent, await overGraphql(kit, step, created));
          const { kind } = ROWS.get(step.operation)!.record;
          if (sent.status === 201) created[kind] = [...(created[kind] ?? []), String(sent.json.id)];
        }
        // Each interface reads what the other wrote.
        for (const [operation, { record, route }] of ROWS) {
          if (!/^GET .*\}$/.test(`${route.method} ${route.path}`)) continue;
          for (const at of created[record.kind]?.keys() ?? []) {
            const step = { operation, at, parameters: {} };
            expectSame(step, await overRest(kit, step, created), await overGraphql(reference, step, created));
          }
        }
      },
    );
    const numRuns = engine.name === 'sqlite' ? Number(process.env.FUZZ_RUNS ?? cases(12, 150)) : cases(2, 10);
    await fc.assert(property, { numRuns });
  });
});

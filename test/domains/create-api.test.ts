import type { GraphQLObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { api, FEATURES } from '../../src/api.ts';
import { category } from '../../src/domains/category/category.domain.ts';
import { createApi } from '../../src/domains/create-api.ts';
import { DOMAINS } from '../../src/domains/index.ts';
import { declareRecord } from '../../src/foundation/declare-record.ts';
import { name, reference, text } from '../../src/foundation/fields.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { appointment } from '../fixtures/appointment/appointment.domain.ts';
import { apiWith } from '../kit/declared.ts';
import { query, send, useGateway } from '../kit/petstore.ts';
import { engines } from '../kit/stores.ts';

/** Less and more than the Petstore: no pets and no webhooks; appointments beside all else. */
const [less, more] = [
  createApi(
    [category],
    FEATURES.filter(({ keyCommands }) => keyCommands === undefined),
  ),
  createApi([...DOMAINS, appointment], FEATURES),
];

describe.each(engines)('two APIs in one process ($name)', (engine) => {
  const [small, large] = [useGateway(engine, {}, less), useGateway(engine, {}, more)];
  const both = <T>(work: (kit: typeof small) => Promise<T>) => Promise.all([work(small), work(large)]);

  it('serve their own domains and features, over REST, GraphQL and in what they say of themselves', async () => {
    const statusOf = (path: string) => both(async ({ gateway }) => (await send(gateway, path)).status);
    expect(await statusOf('/categories')).toEqual([200, 200]);
    for (const path of ['/pets', '/appointments', '/webhooks'])
      expect(await statusOf(path), path).toEqual([404, 200]);
    const types = await both(async ({ gateway }) => {
      const { json } = await query(gateway, '{ __schema { types { name } } }');
      return new Set(json.data.__schema.types.map((type: { name: string }) => type.name));
    });
    const named = ['Category', 'Pet', 'Appointment', 'Webhook', 'Event'];
    expect(types.map((all) => named.filter((type) => all.has(type)))).toEqual([['Category', 'Event'], named]);
    const documents = await both(async ({ gateway }) => (await send(gateway, '/openapi.json')).json);
    expect(documents.map(({ components }) => components.schemas.EventType.enum)).toEqual([
      ['category.created', 'category.updated', 'category.deleted'],
      expect.arrayContaining(['pet.created', 'appointment.deleted']),
    ]);
    expect([less.scopes, more.scopes].map((scopes) => scopes.includes('pets:write'))).toEqual([false, true]);
  });
});

it('refuses two lists of the same name below a record', () => {
  const visits = declareRecord({
    kind: 'visit',
    plural: 'visits',
    type: 'Visit',
    description: 'A visit.',
    fields: { name: name('A name', 'Rex'), petId: reference(Pet, 'A pet', { list: 'orders' }) },
  });
  expect(() => apiWith([visits])).toThrow(
    'Visit.petId: Pet has a field orders already; say in `list` what its list of visits is called.',
  );
  expect(api.records).not.toContain(visits);
});

it('weighs the data of events by the longest text of a record', () => {
  const note = declareRecord({
    kind: 'note',
    plural: 'notes',
    type: 'Note',
    description: 'A note.',
    fields: { text: text(5_000, 'A text', 'Long') },
  });
  const lengthIn = ({ schema }: typeof api): unknown =>
    (schema.getType('Event') as GraphQLObjectType).getFields().data!.extensions.maxLength;
  expect([api, apiWith([note])].map(lengthIn)).toEqual([2_000, 5_000]);
});

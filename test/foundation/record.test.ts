import { expect, it } from 'vitest';
import { Pet } from '../../src/domains/pet/pet.ts';
import {
  bigInteger,
  choice,
  choices,
  type Compute,
  defaulting,
  formerly,
  integer,
  list,
  name,
  reference,
  text,
  viewedBy,
} from '../../src/foundation/fields.ts';
import { declareRecord } from '../../src/foundation/declare-record.ts';
import type { AnyDeclaration } from '../../src/foundation/record.ts';

const label = name('A name', 'Rex');
const level = choice(choices('Level', 'A level.', { low: 'Low.', high: 'High.' }), 'A level', 'low');
const count = integer(1, 5, 'A number', 2);
const petId = reference(Pet, 'A pet');

/** A declaration that works, but for these parts. */
const declare = (parts: object): AnyDeclaration =>
  declareRecord({
    kind: 'thing',
    plural: 'things',
    type: 'Thing',
    description: 'A thing.',
    fields: { label },
    ...(parts as object),
  }) as AnyDeclaration;

const REFUSED: [parts: object, message: string][] = [
  [{ type: 'thing' }, 'thing: a type is called like Pet or VetVisit.'],
  [{ plural: 'Things' }, 'Thing: Things must be written like pet or vetVisits.'],
  [{ plural: 'thing' }, 'Thing: kind and plural are both thing; give it two names, as pet and pets.'],
  [{ plural: 'graphql' }, 'Thing: graphql is a name of the gateway itself; choose another.'],
  [{ fields: {} }, 'Thing: needs at least one field of its own.'],
  [
    { fields: { label: viewedBy('stock', defaulting('Rex', label)) } },
    'Thing: needs at least one field of its own.',
  ],
  [
    { fields: { label, count: viewedBy('stock', count) } },
    'Thing.count: belongs to stock, so new records need a default for it.',
  ],
  [
    { fields: { label, tags: list(label, 3, 'Names', ['Rex']) } },
    'Thing.tags: is a list or an opaque id, which no engine stores in a record; make it a record of its own or a text.',
  ],
  [{ fields: { toString: label } }, 'Thing.toString: a field is called like name or petId.'],
  [{ fields: { nodeId: label } }, 'Thing.nodeId: interfaces use this name themselves; choose another.'],
  [{ fields: { thingId: label } }, 'Thing.thingId: interfaces use this name themselves; choose another.'],
  [
    { fields: { label, labelFolded: label }, sorts: ['label'] },
    'Thing.labelFolded: its column has the name of that of label; choose another name.',
  ],
  [
    { fields: { label, count: integer(0, 2_147_483_648, 'A number', 1) } },
    "Thing.count: integers are from -2147483648 to 2147483647, which GraphQL's Int can hold; choose closer bounds or a bigInteger.",
  ],
  [
    { fields: { label, count: bigInteger(0n, 2n ** 63n, 'A number', 1) } },
    'Thing.count: big integers are from -9223372036854775808 to 9223372036854775807, which databases can hold; choose closer bounds or a text.',
  ],
  [
    { fields: { label, about: formerly('label', text(5, 'A text', 'x')) } },
    'Thing.about: was formerly label, which is the name of a field; its values would be taken for those of another.',
  ],
  [{ filters: ['label', 'label'] }, 'Thing: label, label: a list names each field once.'],
  [{ unique: [[]] }, 'Thing: what is unique has at least one field.'],
  [
    { fields: { note: text(300, 'A note', 'x') }, sorts: ['note'] },
    'Thing.note: a text in `sorts` has at most 200 characters; shorten it or take it out.',
  ],
  [
    { filters: ['label'], sorts: ['label'] },
    'Thing.label: a text in `sorts` is found by how it begins; take it out of `filters`.',
  ],
  [
    { fields: { limit: count }, sorts: ['limit'] },
    'Thing.limit: lists have an argument of this name; choose another.',
  ],
  [
    { fields: { a: count, b: count, c: count, d: count }, filters: ['a', 'b', 'c', 'd'] },
    'Thing: lists can be filtered by a, b, c, d, more than 3; say in `combinations` which go together.',
  ],
  [
    { fields: { count: integer(1, 5, 'A number', 9) } },
    'Thing.count: its example 9 breaks its rule: must be an integer from 1 to 5.',
  ],
  [
    { fields: { count: defaulting(99, count) } },
    'Thing.count: its default 99 breaks its rule: must be an integer from 1 to 5.',
  ],
  [{ fields: { owner: petId } }, 'Thing.owner: refers to another record, so its name ends in Id, as petId.'],
  [{ fields: { petId, pet: label } }, 'Thing.pet: is what petId leads to; choose another name.'],
  [
    { fields: { petId }, computed: (computed: Compute<never>) => ({ pet: computed(label, () => 'x') }) },
    'Thing.pet: is what petId leads to; choose another name.',
  ],
  [
    { fields: { level, petId: reference(Pet, 'A pet', { where: { levle: 'low' } }) } },
    'Thing.petId: in its `where`, levle cannot be "low".',
  ],
  [
    { fields: { level, petId: reference(Pet, 'A pet', { where: { level: 'lwo' } }) } },
    'Thing.petId: in its `where`, level cannot be "lwo".',
  ],
  [
    { fields: { petId, otherId: petId } },
    'Thing.otherId: Pet has a field things already; say in `list` what its list of things is called.',
  ],
  [
    { fields: { petId: reference(Pet, 'A pet', { list: 'category' }) } },
    'Thing.petId: Pet has a field category already; say in `list` what its list of things is called.',
  ],
];

it.each(REFUSED.map(([parts, message]) => [message, parts] as const))('says %s', (message, parts) => {
  expect(() => declare(parts)).toThrow(new Error(message));
});

it('checks what is computed by its declaration, of a record of its type', () => {
  const twice = declareRecord({
    kind: 'thing',
    plural: 'things',
    type: 'Thing',
    description: 'A thing.',
    fields: { count },
    computed: (computed) => ({ twice: computed(count, (record) => record.count * 2) }),
  });
  expect(twice.computed.twice.compute({ id: '1', count: 2 })).toBe(4);
  for (const [value, shown] of [
    [3, '6'],
    [1.25, '2.5'],
  ] as const)
    expect(() => twice.computed.twice.compute({ id: '1', count: value })).toThrow(
      `A number: ${shown} was computed, which must be an integer from 1 to 5.`,
    );
  const misspelt = () =>
    declareRecord({
      kind: 'thing',
      plural: 'things',
      type: 'Thing',
      description: 'A thing.',
      fields: { count },
      // @ts-expect-error -- no such field
      computed: (computed) => ({ twice: computed(count, ({ cuont }) => cuont * 2) }),
    });
  expect(misspelt).not.toThrow();
});

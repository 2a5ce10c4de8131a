import fc from 'fast-check';
import { FEATURES } from '../../src/api.ts';
import { type Api, createApi } from '../../src/domains/create-api.ts';
import { DOMAINS } from '../../src/domains/index.ts';
import * as fields from '../../src/foundation/fields.ts';
import { declareRecord } from '../../src/foundation/declare-record.ts';
import type { AnyDeclaration } from '../../src/foundation/record.ts';
import { refusal } from '../../src/foundation/errors.ts';
import { prefixFields, rangesOf } from '../../src/schema/list-arguments.ts';
import { recordDomain } from '../../src/domains/record-domain.ts';

/** When something is declared: never, from the start, or from the restart on. */
export type Since = 'never' | 'start' | 'restart';

export interface FieldSpec {
  name: string;
  kind: 'integer' | 'bigInteger' | 'boolean' | 'choice' | 'instant' | 'date' | 'text' | 'name' | 'code';
  presence: fields.Presence;
  since: Exclude<Since, 'never'>;
  sorted: Since;
  filtered: boolean;
}

export interface ReferenceSpec {
  /** The position of the parent among the records. */
  parent: number;
  /** True if another reference leads to the same parent. */
  again: boolean;
  presence: 'required' | 'optional';
  holds: 'all' | 'some' | 'none';
  filtered: boolean;
  sorted: Since;
}

export interface RecordSpec {
  fields: FieldSpec[];
  references: ReferenceSpec[];
  choosesId: boolean;
  unique: Since;
  /** The work of its hooks: refuse a text, write a number of the first parent, or write a child of a new record. */
  hooks: ('refuse' | 'parent' | 'child')[];
}

const KINDS = [
  'integer',
  'bigInteger',
  'boolean',
  'choice',
  'instant',
  'date',
  'text',
  'name',
  'code',
] as const;
/** Words of SQL, of this gateway and of its engines. */
const NAMES =
  'order version group select index from default case written check primary type value parent count key data page input nameFolded table'.split(
    ' ',
  );
export const TYPES = [
  ['box', 'boxes', 'Box'],
  ['crate', 'crates', 'Crate'],
  ['item', 'items', 'Item'],
  // A keyword of SQL.
  ['part', 'union', 'Part'],
] as const;

const since = fc.constantFrom<Since>('never', 'start', 'start', 'restart');

/** The first one is there from the start, since a record has at least one. */
const field = (name: string, position: number): fc.Arbitrary<FieldSpec> =>
  fc.record({
    name: fc.constant(name),
    kind: fc.constantFrom(...KINDS),
    presence: fc.constantFrom<fields.Presence>('required', 'defaulted', 'optional', 'optional'),
    since: fc.constantFrom<'start' | 'restart'>(
      'start',
      'start',
      'start',
      position > 0 ? 'restart' : 'start',
    ),
    sorted: since,
    filtered: fc.boolean(),
  });

const record = (position: number): fc.Arbitrary<RecordSpec> =>
  fc.record({
    fields: fc
      .shuffledSubarray(NAMES, { minLength: 4, maxLength: 5 })
      .chain((names) => fc.tuple(...names.map(field))),
    // The last one is a grandchild, with two parents of one kind; the one before it has two of different kinds.
    references: fc.tuple(
      ...[[], [0], [0, 1], [2, 2]][position]!.map((parent, n, all) =>
        fc.record({
          parent: fc.constant(parent),
          again: fc.constant(all.indexOf(parent) < n),
          presence: fc.constantFrom<'required' | 'optional'>('required', 'optional'),
          holds: fc.constantFrom<'all' | 'some' | 'none'>('all', 'some', 'none'),
          filtered: fc.boolean(),
          sorted: since,
        }),
      ),
    ),
    choosesId: fc.boolean(),
    unique: since,
    hooks: fc.subarray(['refuse', 'parent', 'child'] as const),
  });

/** Declarations of four kinds of records, of which each but the first refers to others. */
export const declarations: fc.Arbitrary<readonly RecordSpec[]> = fc.tuple(
  ...TYPES.map((_, position) => record(position)),
);

export const referenceName = ({ parent, again }: ReferenceSpec): string =>
  again ? 'otherId' : `${TYPES[parent]![0]}Id`;

/** The name of the list below a parent. */
export const childListName = ({ plural }: AnyDeclaration, { again }: ReferenceSpec): string =>
  again ? 'others' : plural;

/** A text that the rule allows at first. */
export const LONG = 'evening primrose';

/** Values of each kind, of which several are equal where they are folded or normalised. */
export const POOL: Readonly<Record<FieldSpec['kind'], readonly unknown[]>> = {
  integer: [0, 1, 7],
  bigInteger: [
    '0',
    '-9223372036854775808',
    '9007199254740993',
    '9223372036854775807',
    '-9007199254740992',
    '10',
    '9',
  ],
  boolean: [false, true],
  choice: ['low', 'high', 'none'],
  instant: ['2026-01-31T09:30:00Z', '1969-12-31T23:59:59.5Z', '2026-01-31T09:30:00.001Z'],
  date: ['2026-01-31', '0999-12-31', '2026-02-01'],
  text: ['', 'eve', LONG, 'Éva', 'ﬁn', 'fin', '\u{1f436}', '\ufffd', 'E"\\'],
  code: ['x-1', 'X-1', '1z 9'],
  name: ['Eve', 'éva', 'Straße', 'strasse', '\u{1f436}', '\ufffd'],
};

/** A value after it was stored: an instant in UTC, a code in upper case. */
export const canonical = (kind: string, value: unknown): unknown => {
  if (kind === 'instant') return new Date(value as string).toISOString().replace('.000Z', 'Z');
  return kind === 'code' ? (value as string).toUpperCase() : value;
};

/** The longest text: a rule that the restart makes stricter. */
const lengthAt = (stage: Since): number => (stage === 'restart' ? 9 : 20);

function fieldOf({ kind, presence }: FieldSpec, stage: Since, choices: fields.Choices): fields.Field {
  const declared = {
    integer: () => fields.integer(0, 9, 'A number', 1),
    bigInteger: () => fields.bigInteger(-(2n ** 63n), 2n ** 63n - 1n, 'A large number', 1),
    boolean: () => fields.boolean('A truth', true),
    choice: () => fields.choice(choices, 'A level', 'low' as never),
    instant: () => fields.instant('A time', '2026-01-31T09:30:00Z'),
    date: () => fields.date('A day', '2026-01-31'),
    text: () => fields.text(lengthAt(stage), 'A text', 'eve'),
    name: () => fields.name('A name', 'Eve'),
    code: () => fields.code(10, 'A code', 'X-1'),
  }[kind]() as fields.Field;
  if (presence === 'optional') return fields.optional(declared);
  return presence === 'defaulted'
    ? fields.defaulting(canonical(kind, POOL[kind][0]) as never, declared)
    : declared;
}

const isBy = (stage: Since, since: Since): boolean =>
  since === 'start' || (since === 'restart' && stage === 'restart');

/** The fields that a record has at a stage. */
export const specsAt = (spec: RecordSpec, stage: Since): FieldSpec[] =>
  spec.fields
    .filter((field) => isBy(stage, field.since))
    // What is added to existing records needs a value.
    .map((field) =>
      field.since === 'restart' && field.presence === 'required' ? { ...field, presence: 'optional' } : field,
    );

const isText = ({ kind }: FieldSpec): boolean => kind === 'text' || kind === 'name' || kind === 'code';

/** The fields that no two records may have in common at a stage. */
export const uniqueAt = (spec: RecordSpec, stage: Since): string[] | undefined => {
  const [first] = specsAt(spec, 'start').filter(isText);
  const names = [...spec.references.slice(0, 1).map(referenceName), ...(first ? [first.name] : [])];
  return isBy(stage, spec.unique) && first ? names : undefined;
};

/** The children that block the deletion of a parent; undefined for all of them. */
export function holdsOf(spec: RecordSpec, { holds }: ReferenceSpec): fields.Reference['where'] {
  const flag = spec.fields.find(({ kind, since }) => kind === 'boolean' && since === 'start');
  if (holds === 'none') return null;
  return holds === 'some' && flag ? { [flag.name]: false } : undefined;
}

/** The computed values of a record. */
export const countOf = (values: object): number => Object.keys(values).filter((name) => name !== 'id').length;

/** The rule over several fields. */
export function breaksRule(values: object): boolean {
  const texts = Object.values(values).filter((value) => value === 'eve' || value === '\ufffd');
  return new Set(texts).size < texts.length;
}

/** The text that hooks refuse. */
const REFUSED = '\u{1f436}';
const isRefused = refusal({
  while: 'it has a dog',
  of: ['creation', 'update'],
  message: () => 'It has a dog.',
});

export const hooksRefuse = ({ hooks }: RecordSpec, values: object): boolean =>
  hooks.includes('refuse') && Object.values(values).includes(REFUSED);

/** The records that hooks write beside a new one, in order. */
export function writtenBeside(
  specs: readonly RecordSpec[],
  position: number,
  { id, ...values }: { id: string } & Readonly<Record<string, unknown>>,
): { child?: Record<string, unknown>; parent?: { id: string; field: string; value: number } } {
  const { hooks, references } = specs[position]!;
  const parent = references[0] && (values[referenceName(references[0])] as string | undefined);
  const number = references[0] && specs[references[0].parent]!.fields.find(isPlainNumber);
  // A child that has no parent of another kind.
  const isParent = hooks.includes('child') && position % 2 === 0;
  const below = specs[position + 1]!;
  return {
    ...(isParent && {
      child: {
        ...Object.fromEntries(
          below?.references.filter((one) => one.parent === position).map((one) => [referenceName(one), id]),
        ),
        ...Object.fromEntries(
          below?.fields
            .filter(({ presence, since }) => presence === 'required' && since === 'start')
            .map(({ name, kind }) => [name, POOL[kind][0]]),
        ),
      },
    }),
    ...(hooks.includes('parent') &&
      parent !== undefined &&
      number && { parent: { id: parent, field: number.name, value: 7 } }),
  };
}

const isPlainNumber = ({ kind, since }: FieldSpec): boolean => kind === 'integer' && since === 'start';

/** Declares the records of a stage. @param unique whether what is unique from the restart on may be declared */
export function declare(
  specs: readonly RecordSpec[],
  stage: Since,
  unique: readonly boolean[],
): AnyDeclaration[] {
  const records: AnyDeclaration[] = [];
  for (const [position, spec] of specs.entries()) {
    const [kind, plural, type] = TYPES[position]!;
    const levels = fields.choices(`${type}Level`, 'A level.', { low: 'Low.', high: 'High.', none: 'None.' });
    const fieldSpecs = specsAt(spec, stage);
    const references = spec.references.map((reference) => {
      const where = holdsOf(spec, reference);
      const declared = fields.reference(records[reference.parent]!, 'A parent', {
        ...(where !== undefined && { where }),
        ...(reference.again && { list: 'others' }),
      });
      return [
        referenceName(reference),
        reference.presence === 'optional' ? fields.optional(declared) : declared,
      ] as const;
    });
    const sorts = [
      ...fieldSpecs.filter(({ sorted }) => isBy(stage, sorted)).map(({ name }) => name),
      ...spec.references.filter(({ sorted }) => isBy(stage, sorted)).map(referenceName),
    ].slice(0, 4);
    const filters = [
      ...fieldSpecs
        .filter((one) => one.filtered && !(isText(one) && sorts.includes(one.name)))
        .map(({ name }) => name),
      ...spec.references.filter(({ filtered }) => filtered).map(referenceName),
    ];
    const few = filters.slice(0, 3 - spec.references.length);
    const keys = unique[position] === false ? undefined : uniqueAt(spec, stage);
    records.push(
      declareRecord({
        kind,
        plural,
        type,
        description: 'A record.',
        fields: {
          ...Object.fromEntries(references),
          ...Object.fromEntries(fieldSpecs.map((one) => [one.name, fieldOf(one, stage, levels)])),
        },
        sorts,
        filters: few,
        unique: keys ? [keys] : [],
        choosesId: spec.choosesId,
        computed: (computed) => ({
          filled: computed(fields.integer(0, 20, 'How many values it has', 1), countOf),
        }),
        hooks: {
          refusals: [isRefused],
          before: ({ after }) => {
            if (after && hooksRefuse(spec, after)) throw isRefused();
          },
          async after({ before, after }, tables) {
            if (before || !after) return;
            const { child, parent } = writtenBeside(specs, position, after);
            if (child) await tables.table(records[position + 1]!).insert(child as never);
            if (!parent) return;
            const { id, field, value } = parent;
            await tables.table(records[spec.references[0]!.parent]!).update(id, { [field]: value } as never);
          },
        },
        rules: (values) => (breaksRule(values) ? [{ path: kind, message: 'has a value twice' }] : []),
      }) as AnyDeclaration,
    );
  }
  return records;
}

/** The names of the conditions of a record's lists: its value, how a text begins, and a range of values. */
export const conditionsOf = (
  record: AnyDeclaration,
): readonly (readonly [name: string, is: 'value' | 'prefix' | 'range'])[] => [
  ...record.filters.map((name: string) => [name, 'value'] as const),
  ...prefixFields(record).map(([name]) => [name, 'prefix'] as const),
  ...rangesOf(record).map(([name]) => [name, 'range'] as const),
];

/** The API of the Petstore with domains of these records in addition. */
export const apiWith = (records: readonly AnyDeclaration[]): Api =>
  createApi(
    [
      ...DOMAINS,
      ...records.map((record) => recordDomain(record, { tag: 'Store', scope: null, example: {} })),
    ],
    FEATURES,
  );

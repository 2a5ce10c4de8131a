import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { AppError } from '../../src/errors.ts';
import { PersistedQueries } from '../../src/graphql/persisted-queries.ts';

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
const named = (sha256Hash: unknown, version: unknown = 1) => ({ persistedQuery: { version, sha256Hash } });

function refusalOf(work: () => unknown) {
  try {
    work();
  } catch (error) {
    const { code, message } = error as AppError;
    return [code, message];
  }
  return undefined;
}

const UNKNOWN = ['PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound'];
const MALFORMED = [
  'BAD_REQUEST',
  'extensions.persistedQuery must have version 1 and the SHA-256 of the query, in hex, as sha256Hash.',
];
const OTHER = ['BAD_REQUEST', 'extensions.persistedQuery.sha256Hash is not the SHA-256 of the query.'];

it('a document is learnt with its hash and then known by it, whatever its length', () => {
  for (const text of ['{', '{ __typename }', `{ a } # ${'x'.repeat(90_000)}`]) {
    const persisted = new PersistedQueries();
    for (const missing of [undefined, null, ''])
      expect(refusalOf(() => persisted.textOf(missing, named(hashOf(text))))).toEqual(UNKNOWN);
    expect(persisted.textOf(text, named(hashOf(text)))).toBe(text);
    expect(persisted.textOf(text, named(hashOf(text)))).toBe(text);
    for (const missing of [undefined, null, ''])
      expect(persisted.textOf(missing, named(hashOf(text).toUpperCase()))).toBe(text);
  }
});

it('a request that names no hash has its own document, whatever that is', () => {
  const persisted = new PersistedQueries();
  for (const query of ['{ a }', '', undefined, null, 7])
    for (const extensions of [undefined, null, {}, { persistedQuery: null }, { other: 1 }])
      expect(persisted.textOf(query, extensions)).toBe(query);
  expect(persisted.textOf(7, named(hashOf('7')))).toBe(7);
});

it.each([
  ['x', 1],
  [7, 1],
  [undefined, 1],
  [hashOf('{ a }').slice(1), 1],
  [`${hashOf('{ a }')}0`, 1],
  [`0${hashOf('{ a }')}`, 1],
  [` ${hashOf('{ a }').slice(1)}`, 1],
  [hashOf('{ a }').replace(/./, 'g'), 1],
  [hashOf('{ a }'), 2],
  [hashOf('{ a }'), '1'],
  [hashOf('{ a }'), null],
])('the hash %j of version %j is malformed', (hash, version) => {
  const persisted = new PersistedQueries();
  for (const query of [undefined, '{ a }'])
    expect(refusalOf(() => persisted.textOf(query, named(hash, version)))).toEqual(MALFORMED);
});

it('a hash of another document is refused, known or not, and nothing is learnt', () => {
  const persisted = new PersistedQueries();
  expect(refusalOf(() => persisted.textOf('{ a }', named(hashOf('{ b }'))))).toEqual(OTHER);
  expect(refusalOf(() => persisted.textOf(undefined, named(hashOf('{ b }'))))).toEqual(UNKNOWN);
  persisted.textOf('{ b }', named(hashOf('{ b }')));
  expect(refusalOf(() => persisted.textOf('{ a }', named(hashOf('{ b }'))))).toEqual(OTHER);
  expect(persisted.textOf(undefined, named(hashOf('{ b }')))).toBe('{ b }');
});

it('1,000 documents are known, and four million characters of them', () => {
  const known = (texts: readonly string[]) => {
    const persisted = new PersistedQueries();
    for (const text of texts) persisted.textOf(text, named(hashOf(text)));
    return texts.filter(
      (text) => refusalOf(() => persisted.textOf(undefined, named(hashOf(text)))) === undefined,
    );
  };
  const short = Array.from({ length: 1_001 }, (_, n) => `{ a${n} }`);
  expect(known(short)).toEqual(short.slice(1));
  // With a character more for each, 40 of them fill the room.
  const long = Array.from({ length: 41 }, (_, n) => `${n}`.padEnd(99_999, '#'));
  expect(known(long.slice(1))).toHaveLength(40);
  expect(known(long)).toEqual(long.slice(1));
});

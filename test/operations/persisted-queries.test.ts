import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { AppError } from '../../src/foundation/errors.ts';
import { PersistedQueries } from '../../src/operations/persisted-queries.ts';

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
const withHash = (sha256Hash: unknown, version: unknown = 1) => ({ persistedQuery: { version, sha256Hash } });

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

it('stores a document with its hash and returns it by hash, whatever its length', () => {
  for (const text of ['{', '{ __typename }', `{ a } # ${'x'.repeat(90_000)}`]) {
    const persisted = new PersistedQueries();
    for (const missing of [undefined, null, ''])
      expect(refusalOf(() => persisted.textOf(missing, withHash(hashOf(text))))).toEqual(UNKNOWN);
    expect(persisted.textOf(text, withHash(hashOf(text)))).toBe(text);
    expect(persisted.textOf(text, withHash(hashOf(text)))).toBe(text);
    for (const missing of [undefined, null, ''])
      for (const hash of [hashOf(text).toUpperCase(), `sha256:${hashOf(text)}`])
        expect(persisted.textOf(missing, withHash(hash))).toBe(text);
  }
});

it('returns the query unchanged if there is no hash or it is not a string', () => {
  const persisted = new PersistedQueries();
  for (const query of ['{ a }', '', undefined, null, 7])
    for (const extensions of [undefined, null, {}, { persistedQuery: null }, { other: 1 }])
      expect(persisted.textOf(query, extensions)).toBe(query);
  expect(persisted.textOf(7, withHash(hashOf('7')))).toBe(7);
});

it.each([
  ['x', 1],
  [7, 1],
  [undefined, 1],
  [[hashOf('{ a }')], 1],
  [hashOf('{ a }').slice(1), 1],
  [`${hashOf('{ a }')}0`, 1],
  [`0${hashOf('{ a }')}`, 1],
  [` ${hashOf('{ a }').slice(1)}`, 1],
  [hashOf('{ a }').replace(/./, 'g'), 1],
  [hashOf('{ a }'), 2],
  [hashOf('{ a }'), '1'],
  [hashOf('{ a }'), null],
])('refuses the hash %j with version %j as malformed', (hash, version) => {
  const persisted = new PersistedQueries();
  for (const query of [undefined, '{ a }'])
    expect(refusalOf(() => persisted.textOf(query, withHash(hash, version)))).toEqual(MALFORMED);
});

it('refuses the hash of another document, stored or not, and stores nothing', () => {
  const persisted = new PersistedQueries();
  expect(refusalOf(() => persisted.textOf('{ a }', withHash(hashOf('{ b }'))))).toEqual(OTHER);
  expect(refusalOf(() => persisted.textOf(undefined, withHash(hashOf('{ b }'))))).toEqual(UNKNOWN);
  persisted.textOf('{ b }', withHash(hashOf('{ b }')));
  expect(refusalOf(() => persisted.textOf('{ a }', withHash(hashOf('{ b }'))))).toEqual(OTHER);
  expect(persisted.textOf(undefined, withHash(hashOf('{ b }')))).toBe('{ b }');
});

it('remembers up to 1,000 documents and four million characters', () => {
  const known = (texts: readonly string[]) => {
    const persisted = new PersistedQueries();
    for (const text of texts) persisted.textOf(text, withHash(hashOf(text)));
    return texts.filter(
      (text) => refusalOf(() => persisted.textOf(undefined, withHash(hashOf(text)))) === undefined,
    );
  };
  const short = Array.from({ length: 1_001 }, (_, n) => `{ a${n} }`);
  expect(known(short)).toEqual(short.slice(1));
  // Each counts one character more than its length, so 40 of them fill the cache.
  const long = Array.from({ length: 41 }, (_, n) => `${n}`.padEnd(99_999, '#'));
  expect(known(long.slice(1))).toHaveLength(40);
  expect(known(long)).toEqual(long.slice(1));
});

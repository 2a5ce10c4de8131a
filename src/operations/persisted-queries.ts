import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AppError } from '../foundation/errors.ts';

const MAX_TEXTS = 1_000;
const MAX_BYTES = 8_000_000;

/**
 * Automatic persisted queries as in Apollo's link: the client sends the SHA-256 of its document, and the
 * document only if the hash is unknown. Sharing the cache between keys leaks nothing, since a key could send
 * the document itself.
 */
export class PersistedQueries {
  readonly #texts = new LRUCache<string, string>({
    max: MAX_TEXTS,
    maxSize: MAX_BYTES,
    sizeCalculation: (text) => 2 * text.length + 1,
  });

  /** Whether a client has sent the document with this hash, in lower case. */
  has(hash: string): boolean {
    return this.#texts.has(hash);
  }

  /**
   * Returns the document of a request: its `query`, or the one that `extensions.persistedQuery` refers to.
   *
   * @throws PERSISTED_QUERY_NOT_FOUND, BAD_REQUEST if the hash is malformed or does not match the document
   */
  textOf(query: unknown, extensions: unknown): unknown {
    const named = (extensions as { persistedQuery?: unknown } | null | undefined)?.persistedQuery;
    if (named === undefined || named === null) return query;
    const hash = hashNamed(named);
    if (query === undefined || query === null || query === '') {
      const text = this.#texts.get(hash);
      if (text === undefined) throw persistedQueryNotFound();
      return text;
    }
    if (typeof query !== 'string') return query;
    if (!this.#texts.has(hash)) {
      if (hashOf(query) !== hash) throw otherDocument();
      this.#texts.set(hash, query);
    } else if (this.#texts.get(hash) !== query) {
      throw otherDocument();
    }
    return query;
  }
}

function hashNamed(named: unknown): string {
  const hash = persistedHash(named);
  if (hash === undefined) {
    throw new AppError(
      'BAD_REQUEST',
      'extensions.persistedQuery must have version 1 and the SHA-256 of the query, in hex, as sha256Hash.',
    );
  }
  return hash;
}

/** The SHA-256 in `extensions.persistedQuery`, in lower-case hex; undefined if it is malformed. */
export function persistedHash(named: unknown): string | undefined {
  if (typeof named !== 'object' || named === null) return undefined;
  const { version, sha256Hash } = named as { version?: unknown; sha256Hash?: unknown };
  return version === 1 && typeof sha256Hash === 'string' ? sha256In(sha256Hash) : undefined;
}

/** A SHA-256 in lower-case hex, as clients write it: bare, or after `sha256:` as by the client preset. */
export const sha256In = (text: string): string | undefined =>
  /^(?:sha256:)?([0-9a-f]{64})$/i.exec(text)?.[1]?.toLowerCase();

/** The SHA-256 of a document in lower-case hex. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Apollo's link expects this exact message. */
export const persistedQueryNotFound = () =>
  new AppError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');

const otherDocument = () =>
  new AppError('BAD_REQUEST', 'extensions.persistedQuery.sha256Hash is not the SHA-256 of the query.');

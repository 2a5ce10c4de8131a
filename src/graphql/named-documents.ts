import { createHash } from 'node:crypto';
import { bindingOf, type DocumentBinding, type Principal } from '../access/api-keys.ts';
import { byteCache } from '../foundation/cache.ts';
import { AppError } from '../foundation/errors.ts';
import type { Clock } from '../foundation/instant.ts';
import { WriteBehind } from '../foundation/write-behind.ts';
import type { DocumentStore, TrustedDocument } from '../store/trusted-documents.ts';

/** How long a lookup is cached, in milliseconds. Changes must take effect within 5 seconds. */
const CACHE_TTL = 4_000;
/** The maximum number of documents whose use is recorded per interval. */
const MAX_USES = 10_000;
/** The estimated size of an entry besides its texts, in bytes. */
const ENTRY_BYTES = 500;
/** The interval at which uses are stored, in milliseconds. */
const INTERVAL = 10_000;

/** The format of a document's id: visible ASCII. */
const ID = /^[\x21-\x7e]{1,135}$/;

interface Services {
  store: DocumentStore;
  clock: Clock;
  /** Receives each document that a key runs outside its list, if the key only reports that. */
  onUntrusted: (apiKeyId: string, hash: string) => void;
  /** Receives errors of background writes. */
  report: (error: unknown) => void;
}

/** The parameters of a request for its document, as received. */
interface Named {
  query: unknown;
  documentId: unknown;
  /** From `extensions`. */
  persistedQuery: unknown;
}

/**
 * Documents that requests name instead of sending. Lists of trusted documents are stored in advance: keys may be bound
 * to a list, and requests may name its documents by id. Automatic persisted queries work as in Apollo's link: the
 * client sends the SHA-256 of its document, and the document itself only if the hash is unknown. All keys share these,
 * since any key could send the document itself.
 */
export class NamedDocuments extends WriteBehind {
  readonly #services: Services;
  readonly #cache = byteCache<{ document: TrustedDocument | null; until: number }>(
    'trusted',
    ({ document }, key) => ENTRY_BYTES + 2 * (key.length + (document?.text.length ?? 0)),
  );
  /** Automatic persisted queries, by SHA-256 in lower-case hex. */
  readonly #persisted = byteCache<string>('persisted', (text) => ENTRY_BYTES + 2 * text.length);
  #uses = new Map<string, { list: string; id: string; lastUsedAt: number }>();

  constructor(services: Services) {
    super(INTERVAL, services.report);
    this.#services = services;
  }

  /**
   * Finds the text of the document that a request names or sends.
   *
   * @returns the `query` as received if it isn't a text and no document is named
   * @throws PERSISTED_QUERY_NOT_FOUND, FORBIDDEN if the key may not run it, BAD_REQUEST if the parameters contradict
   * each other, UNAVAILABLE
   */
  async textOf({ id, documents = [] }: Pick<Principal, 'id' | 'documents'>, named: Named): Promise<unknown> {
    const { query, documentId, persistedQuery } = named;
    const bindings = documents.map(bindingOf);
    const hash = persistedQuery == null ? undefined : persistedHash(persistedQuery);
    let text = typeof query === 'string' && query !== '' ? query : undefined;
    if (text === undefined && documentId == null) {
      if (hash === undefined) return query;
      // Keys that are strictly bound to a list use no automatic persisted queries.
      text = bindings.some(({ isStrict }) => isStrict) ? undefined : this.#persisted.get(hash);
    }
    const name = documentId ?? (text === undefined ? hash : undefined);
    if (name !== undefined) {
      const document = await this.#named(bindings[0]?.list, name);
      if (!document) throw persistedQueryNotFound();
      if (text !== undefined && text !== document.text)
        throw new AppError('BAD_REQUEST', 'The query is not the document that documentId names.');
      this.#used(document);
      await this.#require(id, bindings.slice(1), document.text);
      return document.text;
    }
    await this.#require(id, bindings, text!);
    if (hash !== undefined) this.#persist(hash, text!);
    return text;
  }

  /** Checks a text against the bindings of a key. @throws FORBIDDEN if a strict one lacks it; others report it */
  async #require(apiKeyId: string, bindings: readonly DocumentBinding[], text: string): Promise<void> {
    for (const { list, isStrict } of bindings) {
      const document = await this.#byText(list, text);
      if (document) this.#used(document);
      else if (isStrict) throw untrusted();
      else this.#services.onUntrusted(apiKeyId, hashOf(text));
    }
  }

  /** Caches a document sent with its hash. @throws BAD_REQUEST if the hash is wrong */
  #persist(hash: string, text: string): void {
    const persisted = this.#persisted.get(hash);
    if (persisted === undefined ? hashOf(text) !== hash : persisted !== text)
      throw new AppError(
        'BAD_REQUEST',
        'extensions.persistedQuery.sha256Hash is not the SHA-256 of the query.',
      );
    if (persisted === undefined) this.#persisted.set(hash, text);
  }

  /**
   * Checks that a key may run a text, for subscriptions also while they are open.
   *
   * @throws FORBIDDEN
   */
  async requireText({ documents = [] }: Pick<Principal, 'documents'>, text: string): Promise<void> {
    for (const { list, isStrict } of documents.map(bindingOf))
      if (isStrict && (await this.#byText(list, text)) === null) throw untrusted();
  }

  protected async write(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.#services.store.touchDocuments([...uses.values()]);
    } catch (error) {
      // The latest use of a document counts.
      this.#uses = new Map([...uses, ...this.#uses]);
      throw error;
    }
  }

  /** The document with this id in a list, or with this SHA-256 in the list (in any list, without one). */
  async #named(list: string | undefined, name: unknown): Promise<TrustedDocument | null> {
    if (typeof name !== 'string' || !ID.test(name))
      throw new AppError('BAD_REQUEST', 'documentId must have 1 to 128 visible ASCII characters.');
    const hash = sha256In(name);
    const byHash =
      hash === undefined
        ? null
        : await this.#lookUp(`${list ?? ''} sha256:${hash}`, () =>
            this.#services.store.documentByHash(list, hash),
          );
    // Ids of the client preset look like hashes, so both are tried.
    if (byHash || list === undefined) return byHash;
    return this.#lookUp(`${list} ${name}`, () => this.#services.store.documentById(list, name));
  }

  async #byText(list: string, text: string): Promise<TrustedDocument | null> {
    const hash = hashOf(text);
    const document = await this.#lookUp(`${list} sha256:${hash}`, () =>
      this.#services.store.documentByHash(list, hash),
    );
    // Lone surrogates are hashed as U+FFFD.
    return document?.text === text ? document : null;
  }

  async #lookUp(key: string, read: () => Promise<TrustedDocument | null>): Promise<TrustedDocument | null> {
    const now = this.#services.clock.monotonic();
    const cached = this.#cache.get(key);
    if (cached && now < cached.until) return cached.document;
    const document = await read();
    this.#cache.set(key, { document, until: now + CACHE_TTL });
    return document;
  }

  #used({ list, id }: TrustedDocument): void {
    if (this.#uses.size < MAX_USES)
      this.#uses.set(`${list} ${id}`, { list, id, lastUsedAt: this.#services.clock.now() });
    this.writeLater();
  }
}

const untrusted = () =>
  new AppError('FORBIDDEN', 'The API key may only run the documents of its list, and this is none of them.');

/** The SHA-256 in `extensions.persistedQuery`, in lower-case hex. @throws BAD_REQUEST if it is malformed */
function persistedHash(named: unknown): string {
  const { version, sha256Hash } = Object(named) as { version?: unknown; sha256Hash?: unknown };
  const hash = version === 1 && typeof sha256Hash === 'string' ? sha256In(sha256Hash) : undefined;
  if (hash !== undefined) return hash;
  const message =
    'extensions.persistedQuery must have version 1 and the SHA-256 of the query, in hex, as sha256Hash.';
  throw new AppError('BAD_REQUEST', message);
}

/** The SHA-256 in a text, bare or after `sha256:` as in the client preset, in lower-case hex; undefined if none. */
const sha256In = (text: string): string | undefined =>
  /^(?:sha256:)?([0-9a-f]{64})$/i.exec(text)?.[1]?.toLowerCase();

/** The SHA-256 of a document in lower-case hex. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Apollo's link expects this exact message. */
const persistedQueryNotFound = () => new AppError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');

import {
  type Collection,
  type Document,
  type Filter,
  MongoBulkWriteError,
  MongoServerError,
  type OptionalUnlessRequiredId,
} from 'mongodb';
import { notFound, unknownReference } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import {
  type AnyRecord,
  holdersOf,
  isHolding,
  type RecordOf,
  referencesOf,
} from '../../foundation/record.ts';
import { idTaken, notUnique, stillReferred } from '../conflicts.ts';
import type { Folding } from '../folding.ts';
import type { Check, TableReads, TableWrites } from '../table.ts';
import type { Attempt, RunAttempts } from './attempts.ts';
import { batch } from './batching.ts';
import { exists, type Key, toKey } from './collection.ts';
import type { Database } from './database.ts';
import { DocumentCodec, type RecordDocument } from './documents.ts';
import { isDuplicateKey, WriteConflict } from './errors.ts';
import type { Holds } from './holds.ts';
import { createIds, type Ids } from './ids.ts';
import { RecordReads } from './records.ts';

type Values = Readonly<Record<string, unknown>>;

/** What the tables of a store share. */
export interface TableContext {
  database: Database;
  holds: Holds;
  folding: Folding;
  /** The records that the store has tables for. */
  records: readonly AnyRecord[];
}

/** The records of one kind in MongoDB. */
export class MongoTable {
  readonly #record: AnyRecord;
  readonly #context: TableContext;
  readonly #codec: DocumentCodec;
  readonly #collection: Collection<RecordDocument>;
  readonly #ids: Ids;
  /** Inserts documents, those of one turn of the event loop in one command. Each has its own error. */
  readonly #insertTogether = batch<RecordDocument, undefined>(async (documents) => {
    const { options } = this.#context.database;
    const none = documents.map(() => undefined);
    if (documents.length === 1) {
      await this.#collection.insertOne(inserted(documents[0]!), options);
      return none;
    }
    try {
      await this.#collection.insertMany(documents.map(inserted), { ...options, ordered: false });
      return none;
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
      const errors = new Map([error.writeErrors].flat().map((writeError) => [writeError.index, writeError]));
      return documents.map((_, i) => {
        const own = errors.get(i);
        return own && new MongoServerError({ message: own.errmsg ?? '', code: own.code });
      });
    }
  });

  constructor(context: TableContext, record: AnyRecord) {
    this.#record = record;
    this.#context = context;
    this.#codec = new DocumentCodec(record);
    this.#collection = context.database.db.collection<RecordDocument>(record.plural);
    this.#ids = createIds(context.database, record);
  }

  /** @param attempt the transaction to read in; by default, each read is on its own */
  reads(attempt?: Attempt): TableReads<AnyRecord> {
    const { database, folding } = this.#context;
    return new RecordReads(database, this.#record, this.#codec, folding, attempt);
  }

  /** @param run how to run each write */
  writes(run: RunAttempts): TableWrites<AnyRecord> {
    return {
      insert: (input) => run((attempt) => this.#insert(input, attempt)),
      update: (id, patch, check) => run((attempt) => this.#update(id, patch, check, attempt)),
      remove: (id, check) => run((attempt) => this.#remove(id, check, attempt)),
    };
  }

  async #insert(input: Values, attempt: Attempt): Promise<RecordOf<AnyRecord>> {
    const chosen = this.#record.choosesId ? (input.id as Id | undefined) : undefined;
    // Refuses malformed values before anything is written.
    const document = this.#codec.newDocument(0n, input);
    // In this order, so that a refusal uses up no id, as in the other engine.
    await this.#requireReferences(this.#codec.toRecord(document), undefined, attempt);
    if (chosen !== undefined) {
      document._id = toKey(chosen);
      await this.#ids.reserve(document._id);
      await this.#insertUnique(document, attempt, idTaken(this.#record, chosen));
    } else {
      document._id = await this.#ids.next();
      await this.#insertUnique(document, attempt, new WriteConflict());
      // If a client has chosen the same id and deleted that record between two of our commands, the insert is
      // undone. Outside of a transaction, the log then has both events.
      if (await this.#ids.wasUsed(document._id)) {
        if (!attempt.session) await this.#delete(document, attempt);
        throw new WriteConflict();
      }
    }
    return this.#codec.toRecord(document) as RecordOf<AnyRecord>;
  }

  /** @param taken the error if the id is taken */
  async #insertUnique(document: RecordDocument, attempt: Attempt, taken: Error): Promise<void> {
    this.#note(document, attempt);
    try {
      if (attempt.session) await this.#collection.insertOne(inserted(document), attempt.options);
      else await this.#insertTogether(document);
    } catch (error) {
      throw isDuplicateKey(error) ? (this.#violation(error as Error) ?? taken) : error;
    }
  }

  /** The error for a violated rule of uniqueness; undefined if the duplicate is the id. */
  #violation({ message }: Error): Error | undefined {
    const fields = this.#record.unique.find((fields: readonly string[]) =>
      message.includes(`${fields.join('_1_')}_1`),
    );
    return fields && notUnique(this.#record, fields);
  }

  /** Changes a document on condition that it has the version that was read. */
  async #update(
    id: Id,
    patch: Values,
    check: Check<never> | undefined,
    attempt: Attempt,
  ): Promise<RecordOf<AnyRecord>> {
    const document = await this.#existing(id, check, attempt);
    const current = this.#codec.toRecord(document);
    const next = this.#codec.toRecord({ ...document, ...this.#codec.stored(patch) });
    await this.#requireReferences(next, current, attempt);
    const update = this.#codec.updateOf(document, patch);
    if (!update) return current as RecordOf<AnyRecord>;
    this.#note(document, attempt);
    try {
      const { matchedCount } = await this.#collection.updateOne(
        sameVersion(document),
        update,
        attempt.options,
      );
      if (matchedCount === 0) throw new WriteConflict();
    } catch (error) {
      throw (isDuplicateKey(error) && this.#violation(error as Error)) || error;
    }
    return next as RecordOf<AnyRecord>;
  }

  async #remove(id: Id, check: Check<never> | undefined, attempt: Attempt): Promise<Id> {
    const document = await this.#existing(id, check, attempt);
    await this.#ids.noteDeletion(document._id);
    const { holds, records } = this.#context;
    const holders = holdersOf(this.#record).filter(({ child }) => records.includes(child));
    if (holders.length === 0) {
      if (!(await this.#delete(document, attempt))) throw new WriteConflict();
      return id;
    }
    const held = await holds.deleteUnreferenced(this.#record.plural, document._id, attempt, {
      referrers: holders.map(({ child, field, holds }) => ({
        collection: child.plural,
        filter: { [field]: document._id, ...holds.where },
      })),
      remove: (condition) => this.#delete(document, attempt, condition),
    });
    if (held !== undefined) throw stillReferred(this.#record, id, holders[held]!);
    return id;
  }

  /**
   * Protects the parents of a record from deletion until the attempt is settled, if the record will hold it off.
   *
   * @param current the record before the change, whose references are protected already
   * @throws UNKNOWN_REFERENCE
   */
  async #requireReferences(values: Values, current: Values | undefined, attempt: Attempt): Promise<void> {
    const { database, holds } = this.#context;
    for (const reference of referencesOf(this.#record)) {
      const { field, parent } = reference;
      const id = values[field] as Id | undefined;
      if (id === undefined) continue;
      const holding = isHolding(reference, values);
      if (id === current?.[field] && (isHolding(reference, current) || !holding)) continue;
      const isThere = holding
        ? await holds.hold(parent.plural, toKey(id), attempt)
        : await exists(
            database.db.collection<{ _id: Key }>(parent.plural),
            { _id: toKey(id) },
            attempt.options,
          );
      if (!isThere) throw unknownReference(field, parent.kind, id);
    }
  }

  /**
   * Reads the document to write.
   *
   * @throws NOT_FOUND, and whatever `check` throws
   */
  async #existing(id: Id, check: Check<never> | undefined, attempt: Attempt): Promise<RecordDocument> {
    const document = await this.#collection.findOne({ _id: toKey(id) }, attempt.options);
    if (!document) throw notFound(this.#record.kind, id);
    check?.(this.#codec.toRecord(document) as never);
    return document;
  }

  /** Deletes a document under an additional condition. @returns whether it was still there unchanged */
  async #delete(document: RecordDocument, attempt: Attempt, condition?: Document): Promise<boolean> {
    this.#note(document, attempt);
    const { deletedCount } = await this.#collection.deleteOne(
      sameVersion(document, condition),
      attempt.options,
    );
    return deletedCount > 0;
  }

  #note({ _id }: RecordDocument, attempt: Attempt): void {
    attempt.written.add(`${this.#record.plural}/${_id}`);
  }
}

const inserted = (document: RecordDocument) => document as OptionalUnlessRequiredId<RecordDocument>;

const sameVersion = ({ _id, version }: RecordDocument, condition: Document = {}) =>
  ({ _id, version, ...condition }) as unknown as Filter<RecordDocument>;

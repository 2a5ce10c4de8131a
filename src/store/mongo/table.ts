import type { Collection, Document, Filter } from 'mongodb';
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
import type { EventRecord } from '../events.ts';
import type { Folding } from '../folding.ts';
import type { Check, TableReads, TableWrites } from '../table.ts';
import type { Attempt, RunAttempts } from './attempts.ts';
import { updateFor } from './changes.ts';
import type { ChosenIds } from './chosen-ids.ts';
import { type Key, type RecordDocument, toKey } from './collection.ts';
import type { Database } from './database.ts';
import { DocumentCodec } from './documents.ts';
import { isDuplicateKey, WriteConflict } from './errors.ts';
import type { Holds } from './holds.ts';
import type { IdSequences } from './ids.ts';
import { createInsert } from './inserts.ts';
import { RecordReads } from './records.ts';

type Values = Readonly<Record<string, unknown>>;

/** The records of one kind in MongoDB. */
export class MongoTable {
  readonly #record: AnyRecord;
  readonly #codec: DocumentCodec;
  readonly #collection: Collection<RecordDocument>;
  readonly #database: Database;
  readonly #holds: Holds;
  readonly #insertDocument: ReturnType<typeof createInsert<RecordDocument>>;
  readonly #ids: IdSequences;
  readonly #chosenIds: ChosenIds | undefined;
  readonly #folding: Folding;
  readonly #isStored: (record: AnyRecord) => boolean;

  /** @param isStored whether this store has a table for a record */
  constructor(
    database: Database,
    record: AnyRecord,
    tools: {
      holds: Holds;
      ids: IdSequences;
      chosenIds: ChosenIds | undefined;
      folding: Folding;
      isStored: (record: AnyRecord) => boolean;
    },
  ) {
    this.#record = record;
    this.#database = database;
    this.#codec = new DocumentCodec(record);
    this.#collection = database.db.collection<RecordDocument>(record.plural);
    this.#holds = tools.holds;
    this.#ids = tools.ids;
    this.#chosenIds = tools.chosenIds;
    this.#isStored = tools.isStored;
    this.#folding = tools.folding;
    this.#insertDocument = createInsert(this.#collection, database);
  }

  /** @param attempt the transaction to read in; by default, each read is on its own */
  reads(attempt?: Attempt): TableReads<AnyRecord> {
    return new RecordReads(this.#database, this.#record, this.#codec, this.#folding, attempt);
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
    const chosen = this.#chosenIds && (input.id as Id | undefined);
    // Refuses malformed values before anything is written.
    const document = this.#codec.newDocument(0n, input);
    const values = this.#codec.toRecord(document);
    // In this order, so that a refusal uses up no id, as in the other engine.
    await this.#requireReferences(values, undefined, attempt);
    const _id = chosen === undefined ? await this.#nextId() : toKey(chosen);
    document._id = _id;
    if (chosen === undefined) await this.#insertAssigned(document, attempt);
    else {
      await this.#chosenIds!.reserve(_id);
      await this.#insertUnique(document, attempt, idTaken(this.#record, chosen));
    }
    return this.#codec.toRecord(document) as RecordOf<AnyRecord>;
  }

  #nextId(): Promise<bigint> {
    return this.#chosenIds ? this.#chosenIds.next() : this.#ids.next(this.#record.plural);
  }

  /**
   * Inserts a record with an assigned id. If a client has chosen the same id and deleted that record between
   * two of our commands, the insert is undone. Outside of a transaction, the log then has both events.
   */
  async #insertAssigned(document: RecordDocument, attempt: Attempt): Promise<void> {
    await this.#insertUnique(document, attempt, new WriteConflict());
    if (!(await this.#chosenIds?.wasUsed(document._id))) return;
    if (!attempt.session) await this.#delete(document, attempt);
    throw new WriteConflict();
  }

  /** @param taken the error if the id is taken */
  async #insertUnique(document: RecordDocument, attempt: Attempt, taken: Error): Promise<void> {
    await this.#insertDocument(document, attempt).catch((error) => {
      throw isDuplicateKey(error) ? (this.#violation(error) ?? taken) : error;
    });
  }

  /** The error for a violated rule of uniqueness; undefined if the duplicate is the id. */
  #violation({ message }: Error): Error | undefined {
    const fields = this.#record.unique.find((fields: readonly string[]) =>
      message.includes(`${fields.join('_1_')}_1`),
    );
    return fields && notUnique(this.#record, fields);
  }

  async #update(
    id: Id,
    patch: Values,
    check: Check<never> | undefined,
    attempt: Attempt,
  ): Promise<RecordOf<AnyRecord>> {
    const document = await this.#existing(id, check, attempt);
    const change = { ...this.#codec.stored(patch), ...this.#codec.foldedChanges(document, patch) };
    const current = this.#codec.toRecord(document);
    const next = this.#codec.toRecord({ ...document, ...change });
    await this.#requireReferences(next, current, attempt);
    return (await this.#change(document, change, attempt)) as RecordOf<AnyRecord>;
  }

  async #remove(id: Id, check: Check<never> | undefined, attempt: Attempt): Promise<Id> {
    const document = await this.#existing(id, check, attempt);
    await this.#chosenIds?.noteDeletion(document._id);
    const holders = holdersOf(this.#record).filter(({ child }) => this.#isStored(child));
    if (holders.length === 0) {
      if (!(await this.#delete(document, attempt))) throw new WriteConflict();
      return id;
    }
    const held = await this.#holds.deleteUnreferenced(this.#record.plural, document._id, attempt, {
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
    for (const reference of referencesOf(this.#record)) {
      const { field, parent } = reference;
      const id = values[field] as Id | undefined;
      if (id === undefined) continue;
      const holding = isHolding(reference, values);
      if (id === current?.[field] && (isHolding(reference, current) || !holding)) continue;
      const key = toKey(id);
      const exists = holding
        ? await this.#holds.hold(parent.plural, key, attempt)
        : await this.#exists(parent.plural, key, attempt);
      if (!exists) throw unknownReference(field, parent.kind, id);
    }
  }

  async #exists(plural: string, _id: Key, attempt: Attempt): Promise<boolean> {
    const parents = this.#database.db.collection<{ _id: Key }>(plural);
    return (await parents.findOne({ _id }, { ...attempt.options, projection: { _id: 1 } })) !== null;
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

  /**
   * Sets values of a document (null removes, undefined keeps), requiring the version that was read.
   *
   * @throws WriteConflict, CONFLICT if a unique combination exists
   */
  async #change(document: RecordDocument, values: Document, attempt: Attempt): Promise<EventRecord> {
    const change = updateFor(this.#codec.projection, document, values);
    if (!change) return this.#codec.toRecord(document);
    this.#note(document, attempt);
    try {
      const options = { ...attempt.options, returnDocument: 'after' } as const;
      const written = await this.#collection.findOneAndUpdate(sameVersion(document), change, options);
      if (!written) throw new WriteConflict();
      return this.#codec.toRecord(written);
    } catch (error) {
      throw (isDuplicateKey(error) && this.#violation(error as Error)) || error;
    }
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

const sameVersion = ({ _id, version }: RecordDocument, condition: Document = {}) =>
  ({ _id, version, ...condition }) as unknown as Filter<RecordDocument>;

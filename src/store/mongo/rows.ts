import type { Collection, OptionalUnlessRequiredId } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { holdersOf } from '../../foundation/record.ts';
import { beingReferred } from '../conflicts.ts';
import type { Rows, Stored, Values } from '../engine.ts';
import { codecOf, type DocumentCodec, type RecordDocument } from './codec.ts';
import { exists, toId, toKey } from './collection.ts';
import type { Database } from './database.ts';
import { isTransient, WriteConflict } from './errors.ts';
import type { Ids } from './ids.ts';
import type { Locks } from './locks.ts';
import { RecordReads } from './reads.ts';
import type { Attempt } from './transactions.ts';

/** How long a deletion is repeated that meets creations, in milliseconds: longer than a dead instance holds it up. */
const DELETION_PATIENCE = 4_000;

/** The records of one kind within an attempt. */
export class MongoRows extends RecordReads implements Rows {
  readonly #record: AnyRecord;
  readonly #codec: DocumentCodec;
  readonly #collection: Collection<RecordDocument>;
  readonly #attempt: Attempt;
  readonly #ids: Ids;
  readonly #locks: Locks;

  constructor(database: Database, record: AnyRecord, attempt: Attempt, ids: Ids, locks: Locks) {
    super(database, record, attempt);
    this.#record = record;
    this.#codec = codecOf(record);
    this.#collection = database.db.collection<RecordDocument>(record.plural);
    this.#attempt = attempt;
    this.#ids = ids;
    this.#locks = locks;
  }

  async exists(values: Values, except?: Id): Promise<boolean> {
    const filter = { ...this.#codec.stored(values), ...(except && { _id: { $ne: toKey(except) } }) };
    return await this.#attempt.send(() => exists(this.#collection, filter as never, this.#attempt.options));
  }

  /** Who locks it alone deletes it next ({@link delete}), which conflicts with all others from the begin on. */
  async lock(id: Id, how: 'shared' | 'alone' = 'shared'): Promise<boolean> {
    await this.#attempt.begin();
    if (how === 'alone') return true;
    if (this.#attempt.created.has(this.#name(id))) return true;
    return await this.#locks.share(this.#record.plural, toKey(id), this.#attempt);
  }

  nextId = async (): Promise<Id> => toId(await this.#ids.next(this.#record));

  async insert(record: Stored): Promise<void> {
    const document = this.#codec.newDocument(record) as OptionalUnlessRequiredId<RecordDocument>;
    await this.#attempt.send(() => this.#collection.insertOne(document, this.#attempt.options));
    this.#attempt.created.add(this.#name(record.id));
  }

  async replace(before: Stored, after: Stored): Promise<void> {
    const [filter, update] = [this.#codec.unchanged(before), this.#codec.updateOf(before, after)];
    const { matchedCount } = await this.#attempt.send(() =>
      this.#collection.updateOne(filter, update, this.#attempt.options),
    );
    if (matchedCount === 0) throw new WriteConflict();
  }

  async delete(record: Stored): Promise<void> {
    const filter = this.#codec.unchanged(record);
    const remove = async () => {
      const { deletedCount } = await this.#attempt.send(() =>
        this.#collection.deleteOne(filter, this.#attempt.options),
      );
      if (deletedCount === 0) throw new WriteConflict();
    };
    this.#attempt.created.delete(this.#name(record.id));
    if (holdersOf(this.#record).length === 0) return await remove();
    try {
      await this.#locks.remove(this.#record.plural, toKey(record.id), this.#attempt);
      await remove();
    } catch (error) {
      const isHeldUp = isTransient(error) && this.#attempt.elapsed > DELETION_PATIENCE;
      throw isHeldUp ? beingReferred(this.#record, record.id) : error;
    }
  }

  #name = (id: Id): string => `${this.#record.plural}/${id}`;
}

import {
  type Collection,
  type CreateCollectionOptions,
  type Db,
  type Document,
  MongoServerError,
} from 'mongodb';
import type { Limits, PetStatus, PlanName, UsageState } from '../store.ts';
import { PET_STATUSES, PLAN_NAMES } from '../store.ts';
import { isDuplicateKey } from './faults.ts';
import { IDS_OF, type IdSequence, MOST_ID } from './ids.ts';

/** An int64 id as BSON keeps it. */
export type Key = bigint;

/** Counts the writes that a client can see; the writes that follow a read of the document filter by it. */
type Version = number | bigint;

export interface PetDocument {
  _id: Key;
  name: string;
  categoryId: Key;
  status: PetStatus;
  quantity: number;
  version: Version;
  /** Incomplete orders that name the pet; never too low (`references.ts`). */
  openOrders: number;
  /** When `openOrders` was last about to change, by the server's clock. */
  heldAt?: Date;
  /** What the last update has left behind, for the log of changes (`events.ts`); the same in the other records. */
  written?: Document;
}

export interface CategoryDocument {
  _id: Key;
  name: string;
  description?: string;
  version: Version;
  /** Pets in the category; never too low (`references.ts`). */
  pets: number;
  /** When `pets` was last about to change, by the server's clock. */
  heldAt?: Date;
  written?: Document;
}

export interface OrderDocument {
  _id: Key;
  petId?: Key;
  quantity?: number;
  shipDate?: Date;
  complete: boolean;
  version: Version;
  written?: Document;
}

export interface ApiKeySecretDocument {
  hash: string;
  prefix: string;
  expiresAt?: Date;
}

export interface ApiKeyDocument {
  _id: string;
  name: string;
  plan: PlanName;
  limits: Limits;
  createdAt: Date;
  revokedAt?: Date;
  secrets: ApiKeySecretDocument[];
}

export interface UsageDocument extends UsageState {
  _id: string;
  /** When nothing of the document counts any more. */
  forgetAt: Date;
}

export interface IdempotencyDocument {
  _id: { apiKeyId: string; idempotencyKey: string };
  fingerprint: string;
  /** The outcome as JSON text, exact where BSON would change it; missing while the first call runs (standalone). */
  outcome?: string;
  /** Standalone: the attempt that may store the outcome, and until when nobody else may take over. */
  attempt?: string;
  leaseUntil?: Date;
  expiresAt: Date;
}

export interface CounterDocument {
  /** A sequence (`orders`), or one reserved order id (`orders/0000000000000000042`). */
  _id: string;
  /** The last id that was handed out. */
  value?: Key;
}

export interface Collections {
  pets: Collection<PetDocument>;
  categories: Collection<CategoryDocument>;
  orders: Collection<OrderDocument>;
  apiKeys: Collection<ApiKeyDocument>;
  usage: Collection<UsageDocument>;
  idempotency: Collection<IdempotencyDocument>;
  counters: Collection<CounterDocument>;
}

/** The collections of a database, whether they exist or not. */
export const collectionsOf = (db: Db): Collections => ({
  pets: db.collection('pets'),
  categories: db.collection('categories'),
  orders: db.collection('orders'),
  apiKeys: db.collection('apiKeys'),
  usage: db.collection('usage'),
  idempotency: db.collection('idempotency'),
  counters: db.collection('counters'),
});

const ID = { bsonType: 'long', minimum: 1 };
const WHOLE = { bsonType: ['int', 'long'], minimum: 0 };
/** Numbers of JavaScript, which the driver writes as int32 or double. */
const NUMBER = { bsonType: ['int', 'long', 'double'], minimum: 0 };
const DATE = { bsonType: 'date' };
const STRING = { bsonType: 'string', minLength: 1 };

/** A schema of exactly these properties; those that end in `?` may be missing. */
function shape(properties: Record<string, Document>): Document {
  const entries = Object.entries(properties).map(([name, schema]) => ({
    name: name.replace('?', ''),
    optional: name.endsWith('?'),
    schema,
  }));
  return {
    bsonType: 'object',
    required: entries.filter((entry) => !entry.optional).map((entry) => entry.name),
    additionalProperties: false,
    properties: Object.fromEntries(entries.map((entry) => [entry.name, entry.schema])),
  };
}

/** What each collection takes, and the indexes of its queries. The rules of the contract proper are checked far above. */
const PLANS: Record<keyof Collections, { schema: Document; indexes: Document[] }> = {
  pets: {
    schema: shape({
      _id: ID,
      name: STRING,
      categoryId: ID,
      status: { enum: [...PET_STATUSES] },
      quantity: { bsonType: 'int', minimum: 0 },
      version: WHOLE,
      openOrders: WHOLE,
      'heldAt?': DATE,
      'written?': { bsonType: 'object' },
    }),
    // A list of statuses is a merge of index ranges that are each in order of the id: no sort in memory.
    indexes: [
      { key: { status: 1, _id: 1 } },
      { key: { categoryId: 1, _id: 1 } },
      { key: { categoryId: 1, status: 1, _id: 1 } },
    ],
  },
  categories: {
    schema: shape({
      _id: ID,
      name: STRING,
      'description?': { bsonType: 'string' },
      version: WHOLE,
      pets: WHOLE,
      'heldAt?': DATE,
      'written?': { bsonType: 'object' },
    }),
    indexes: [],
  },
  orders: {
    schema: shape({
      _id: ID,
      'petId?': ID,
      'quantity?': { bsonType: 'int', minimum: 1 },
      'shipDate?': DATE,
      complete: { bsonType: 'bool' },
      version: WHOLE,
      'written?': { bsonType: 'object' },
    }),
    indexes: [
      { key: { complete: 1, _id: 1 } },
      { key: { petId: 1, _id: 1 } },
      { key: { petId: 1, complete: 1, _id: 1 } },
    ],
  },
  apiKeys: {
    schema: shape({
      _id: STRING,
      name: { bsonType: 'string' },
      plan: { enum: [...PLAN_NAMES] },
      limits: shape({ perMinute: NUMBER, perDay: NUMBER }),
      createdAt: DATE,
      'revokedAt?': DATE,
      secrets: {
        bsonType: 'array',
        items: shape({ hash: STRING, prefix: { bsonType: 'string' }, 'expiresAt?': DATE }),
      },
    }),
    indexes: [{ key: { 'secrets.hash': 1 }, unique: true }, { key: { createdAt: 1, _id: 1 } }],
  },
  usage: {
    schema: shape({
      _id: STRING,
      minuteStart: NUMBER,
      minuteUsed: NUMBER,
      dayStart: NUMBER,
      dayUsed: NUMBER,
      refusedUntil: NUMBER,
      strikes: { bsonType: 'array', items: NUMBER },
      bannedUntil: NUMBER,
      bans: NUMBER,
      // The verdict of the last charge, in documents of an earlier layout.
      'outcome?': { enum: ['passed', 'refused', 'banned'] },
      forgetAt: DATE,
    }),
    indexes: [{ key: { forgetAt: 1 }, expireAfterSeconds: 0 }],
  },
  idempotency: {
    schema: shape({
      _id: shape({ apiKeyId: { bsonType: 'string' }, idempotencyKey: { bsonType: 'string' } }),
      fingerprint: { bsonType: 'string' },
      'outcome?': { bsonType: 'string' },
      'attempt?': { bsonType: 'string' },
      'leaseUntil?': DATE,
      expiresAt: DATE,
    }),
    indexes: [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }],
  },
  counters: {
    schema: shape({ _id: STRING, 'value?': { bsonType: 'long', minimum: 0 } }),
    indexes: [],
  },
};

const NAMESPACE_EXISTS = 48;

/**
 * Creates what is missing: collections, validators, indexes, counters. May run as often and on as many instances
 * at once as it likes.
 */
export async function prepareCollections(db: Db, collections: Collections): Promise<void> {
  const existing = new Map(
    (await db.listCollections({ name: { $in: Object.keys(PLANS) } }).toArray()).map((found) => [
      found.name,
      found,
    ]),
  );
  for (const [name, { schema, indexes }] of Object.entries(PLANS)) {
    const validator = { $jsonSchema: schema };
    const found = existing.get(name);
    if (!found) await createCollection(db, name, { validator, validationAction: 'error' });
    // collMod stops the collection's other work for a moment, so only where it changes something.
    else if (!hasValidator(found, validator)) {
      await db.command({ collMod: name, validator, validationLevel: 'strict', validationAction: 'error' });
    }
    if (indexes.length > 0) {
      await db.collection(name).createIndexes(indexes as Parameters<Collection['createIndexes']>[0]);
    }
  }
  for (const sequence of IDS_OF) await createCounter(collections, sequence);
}

async function createCollection(db: Db, name: string, options: CreateCollectionOptions): Promise<void> {
  try {
    await db.createCollection(name, options);
  } catch (fault) {
    // Another instance was faster; it wrote the same validator.
    if (!(fault instanceof MongoServerError && fault.code === NAMESPACE_EXISTS)) throw fault;
  }
}

function hasValidator(found: Document, validator: Document): boolean {
  const options = found.options ?? {};
  return (
    canonical(options.validator) === canonical(validator) && (options.validationAction ?? 'error') === 'error'
  );
}

const canonical = (document: unknown): string =>
  JSON.stringify(document, (_, value) => (typeof value === 'bigint' ? Number(value) : value)) ?? '';

/** A sequence starts after the highest id there is, which is 0 unless somebody filled the collection by other means. */
async function createCounter({ counters, ...collections }: Collections, sequence: IdSequence): Promise<void> {
  if (await counters.findOne({ _id: sequence })) return;
  // Orders may have any id already, the highest included; their sequence skips those that are taken.
  const last =
    sequence === 'orders'
      ? null
      : await collections[sequence as 'pets'].findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } });
  const value = last && last._id <= MOST_ID ? last._id : 0n;
  try {
    await counters.updateOne({ _id: sequence }, { $setOnInsert: { value } }, { upsert: true });
  } catch (fault) {
    if (!isDuplicateKey(fault)) throw fault;
  }
}

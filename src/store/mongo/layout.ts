import type { CreateIndexesOptions, Db, Document, IndexDescription } from 'mongodb';
import { type AnyDeclaration, type Fields, formerNames } from '../../foundation/record.ts';
import { indexesOf } from '../indexes.ts';
import { OBJECT_KINDS } from '../rules.ts';
import { ascending, codecOf, foldedFieldsOf, indexKey, type RecordDocument } from './codec.ts';
import type { Database, MongoOptions, Role } from './database.ts';
import { ignoreDuplicate, ignoreExisting, isUnauthorized } from './driver-errors.ts';

/** Migrates a database from one layout to the next. May run on several instances at once. */
export type Migration = (database: Database) => Promise<void>;

/** The migration to each layout after layout 1, in order. */
const MIGRATIONS: readonly Migration[] = [];

interface LayoutDocument {
  _id: 'layout';
  version: number;
  /** The properties that are filled in in all documents, by collection. */
  filled?: Record<string, string[]>;
  /** True while an unfinished import fills the database. */
  isImporting?: boolean;
  /** The importing process, and its last sign of life by the server's clock. */
  importer?: { owner: string; seenAt: Date };
}

export const layoutsOf = (db: Db) => db.collection<LayoutDocument>('layout');

/** The records and options that a database is laid out for. */
type Contents = Pick<MongoOptions, 'records' | 'objects'>;

/** All collections with their indexes. */
const collectionsOf = ({
  records,
  objects = [],
}: Contents): Readonly<Record<string, IndexDescription[]>> => ({
  ...Object.fromEntries(records.map((record) => [record.plural, indexesFor(record)])),
  ...Object.fromEntries(
    [...OBJECT_KINDS, ...objects].map(({ name, termsOf, expiresAt }) => [
      name,
      [
        ...(termsOf ? [{ key: { terms: 1 as const, _id: 1 as const } }] : []),
        ...(expiresAt ? [{ key: { expiresAt: 1 as const }, expireAfterSeconds: 0 }] : []),
      ],
    ]),
  ),
  usage: [],
  counters: [],
  locks: [{ key: { of: 1 } }],
  sessions: [{ key: { seenAt: 1 }, expireAfterSeconds: 3_600 }],
});

/** The indexes of a record. A filter by many values merges ordered index ranges, so nothing is sorted in memory. */
const indexesFor = (declaration: AnyDeclaration): IndexDescription[] => [
  ...indexesOf(declaration).map((index) => ({ key: indexKey(declaration, index) })),
  ...declaration.unique.map((names: readonly string[]) => ({
    key: ascending(names),
    unique: true,
    partialFilterExpression: Object.fromEntries(names.map((name) => [name, { $exists: true }])),
  })),
];

/** The wire version of MongoDB 6.0, for $lookup from sharded collections (5.1) and the time in change events. */
const WIRE_VERSION = 17;

/**
 * Creates missing indexes, and fills in properties that older records lack. Safe to run on several instances at once.
 *
 * @param role only a server migrates a database in use
 * @throws Error if the server is too old or standalone, the layout is not supported, or an import is unfinished
 */
export async function prepareLayout(
  database: Database,
  contents: Contents,
  hello: Document,
  role: Role = 'server',
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  if (hello.setName === undefined && hello.msg !== 'isdbgrid')
    throw new Error(
      'The MongoDB in MONGODB_URI is a standalone server, which has no transactions: start it with --replSet NAME and run rs.initiate() once.',
    );
  if (hello.maxWireVersion < WIRE_VERSION) throw new Error('MongoDB 6.0 or later is required.');
  const { db, options } = database;
  if (hello.msg === 'isdbgrid') await checkShardKeys(database);
  const layouts = layoutsOf(db);
  const latest = 1 + migrations.length;
  const collections = Object.entries(collectionsOf(contents));
  // In this order: another instance records the layout before it creates the collections.
  const hasData = await db.listCollections({ name: { $in: collections.map(([name]) => name) } }).hasNext();
  const recorded = await layouts.findOne({ _id: 'layout' }, options);
  const version = recorded?.version ?? (hasData ? undefined : latest);
  const refuse = (why: string): never => {
    throw new Error(
      `The database ${db.databaseName} has layout ${version ?? 'none'}, ${why} (it has ${latest}). Nothing was changed.`,
    );
  };
  if (version === undefined || version < 1 || version > latest)
    return refuse('which this version of the gateway does not know');
  if (version < latest && role !== 'server')
    return refuse('which a server of this version migrates: start it first');
  if (recorded?.isImporting && role !== 'import')
    throw new Error('It has an unfinished import. Begin it again: petstore data import DIR.');
  for (const migrate of migrations.slice(version - 1)) await migrate(database);
  if (recorded?.version !== latest)
    await layouts
      .updateOne({ _id: 'layout' }, { $max: { version: latest } }, { ...options, upsert: true })
      .catch(ignoreDuplicate);
  for (const [name, indexes] of collections) {
    if (indexes.length > 0) await db.collection(name).createIndexes(indexes, WITHOUT_TIMEOUT);
    else await db.createCollection(name).catch(ignoreExisting);
  }
  for (const record of contents.records) {
    const filled = recorded?.filled?.[record.plural];
    const properties = filledProperties(record);
    if (filled && properties.every((name) => filled.includes(name))) continue;
    if (hasData) await fill(database, record);
    await layouts.updateOne(
      { _id: 'layout' },
      { $set: { [`filled.${record.plural}`]: properties } },
      options,
    );
  }
}

/**
 * Checks that sharded collections are sharded by `_id`. Updates and deletions name documents by `_id` alone; with any
 * other key, a router would ask all shards, or refuse.
 *
 * @throws Error if a collection has another shard key
 */
async function checkShardKeys({ client, db, options }: Database): Promise<void> {
  const sharded = await client
    .db('config')
    .collection<{ _id: string; key: object; unsplittable?: boolean }>('collections')
    .find(
      { _id: { $gte: `${db.databaseName}.`, $lt: `${db.databaseName}/` }, unsplittable: { $ne: true } },
      options,
    )
    .toArray()
    .catch((error) => {
      // Without the privilege to read this, users have to check it themselves.
      if (isUnauthorized(error)) return [];
      throw error;
    });
  const wrong = sharded.find(({ key }) => Object.keys(key).join() !== '_id');
  if (wrong)
    throw new Error(
      `The collection ${wrong._id} is sharded by ${JSON.stringify(wrong.key)}: shard it by { _id: 'hashed' } (docs/growing.md#shards).`,
    );
}

/** Options without a timeout, since indexing a large collection can take long. */
const WITHOUT_TIMEOUT = { socketTimeoutMS: 0 } as CreateIndexesOptions;

/** The properties that {@link fill} fills in for older records. */
const filledProperties = (declaration: AnyDeclaration): string[] => [
  ...Object.entries(declaration.fields as Fields).flatMap(([name, { presence }]) =>
    presence === 'defaulted' ? [name] : [],
  ),
  ...foldedFieldsOf(declaration).map(([, property]) => property),
  ...formerNames(declaration).map(([former, name]) => `${former} as ${name}`),
];

/** The number of documents updated per command. */
const STEP = 1_000;

/** Renames properties, and fills in missing defaults and folded values, without events: clients see no change. */
async function fill({ db, options }: Database, declaration: AnyDeclaration): Promise<void> {
  const collection = db.collection<RecordDocument>(declaration.plural);
  const codec = codecOf(declaration);
  for (const [former, name] of formerNames(declaration))
    await collection.updateMany(
      { [former]: { $exists: true } },
      { $rename: { [former]: name, [`${former}_folded`]: `${name}_folded` } },
    );
  for (const [name, { presence, default: value }] of Object.entries(declaration.fields as Fields))
    if (presence === 'defaulted')
      await collection.updateMany({ [name]: { $exists: false } }, { $set: codec.stored({ [name]: value }) });
  for (const [field, property] of foldedFieldsOf(declaration)) {
    const missing = { [field]: { $ne: null }, [property]: null };
    for (;;) {
      const documents = await collection.find(missing, { ...options, limit: STEP }).toArray();
      if (documents.length === 0) break;
      const updates = documents.map(({ _id, [field]: text }) => ({
        // Only if the document still has this text.
        updateOne: { filter: { _id, [field]: text }, update: { $set: codec.foldedOf({ [field]: text }) } },
      }));
      await collection.bulkWrite(updates, { ...options, ordered: false });
    }
  }
}

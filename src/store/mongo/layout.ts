import type { CreateIndexesOptions, Document } from 'mongodb';
import type { AnyRecord } from '../../foundation/record.ts';
import type { OnMigrated } from '../store.ts';
import { apiKeysCollection } from './api-keys.ts';
import { type CollectionDefinition, INTEGER, LAYOUT_COLLECTION, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { collectionOf } from './documents.ts';
import { ignoreDuplicate, isNamespaceTaken, isUnauthorized } from './errors.ts';
import { holdsCollection } from './hold-documents.ts';
import { idempotencyCollection } from './idempotency.ts';
import { countersCollection } from './ids.ts';
import { documentsCollection } from './trusted-documents.ts';
import { usageCollection } from './usage.ts';
import { usageHistoryCollection } from './usage-history.ts';
import { instancesCollection, webhooksCollection } from './webhooks.ts';

/**
 * The version of the database layout. Raise it with any change that instances of the previous version cannot
 * handle. They then refuse to start instead of restoring their own validators.
 *
 * Version 1 kept reference counts on parents and had no number; version 2 has holds; version 3 has keys with
 * scopes, networks and lists of documents, and folded names.
 */
const LAYOUT = 3;

interface LayoutDocument {
  _id: 'layout';
  version: number;
}

const layoutCollection: CollectionDefinition = {
  name: LAYOUT_COLLECTION,
  schema: objectSchema({ _id: STRING, version: INTEGER }),
  indexes: [],
};

/** Has a document while an import is unfinished. */
const importsCollection: CollectionDefinition = {
  name: 'imports',
  schema: objectSchema({ _id: STRING }),
  indexes: [],
};

export const importsOf = ({ db }: Database) => db.collection<{ _id: 'unfinished' }>(importsCollection.name);

/** @throws Error if the database has an unfinished import */
export async function refuseUnfinishedImport(database: Database): Promise<void> {
  if (await importsOf(database).findOne({ _id: 'unfinished' }, database.options))
    throw new Error('It has an unfinished import. Begin it again: petstore data import DIR.');
}

const collectionsOf = (records: readonly AnyRecord[]): readonly CollectionDefinition[] => [
  layoutCollection,
  ...records.map(collectionOf),
  apiKeysCollection,
  usageCollection,
  usageHistoryCollection,
  documentsCollection,
  idempotencyCollection,
  countersCollection,
  holdsCollection,
  importsCollection,
  webhooksCollection,
  instancesCollection,
];

/**
 * The first wire versions with the commands we need: $lookup with localField and pipeline (5.0), also from
 * sharded collections (5.1).
 */
const WIRE_VERSION = 13;
const SHARDED_WIRE_VERSION = 14;

/**
 * Creates missing collections, validators and indexes. Idempotent and safe to run on several instances at
 * once.
 *
 * @returns whether a validator was changed
 * @throws if the server is too old, or the database belongs to a later version or cannot be upgraded
 */
export async function prepareLayout(
  database: Database,
  records: readonly AnyRecord[],
  hello: Document,
  onMigrated: OnMigrated,
): Promise<boolean> {
  const collections = collectionsOf(records);
  const isSharded = hello.msg === 'isdbgrid';
  if (hello.maxWireVersion < (isSharded ? SHARDED_WIRE_VERSION : WIRE_VERSION)) {
    throw new Error(`MongoDB ${isSharded ? '5.1' : '5.0'} or later is required.`);
  }
  const { db, options } = database;
  const layouts = db.collection<LayoutDocument>(layoutCollection.name);
  const recorded = await layouts.findOne({ _id: 'layout' }, options);
  if (recorded && recorded.version > LAYOUT) {
    throw new Error(
      `The database has layout ${recorded.version} of a later version of the gateway; this version supports layout ${LAYOUT}.`,
    );
  }

  const names = collections.map(({ name }) => name);
  const existing = new Map(
    (await db.listCollections({ name: { $in: names } }).toArray()).map((info) => [info.name, info]),
  );
  let changed = false;
  for (const definition of collections) {
    const info = existing.get(definition.name);
    if (info) changed = (await adaptValidator(database, definition, info)) || changed;
    else await createCollection(database, definition);
    if (definition.indexes.length > 0) await createIndexes(database, definition, !info);
  }
  if (recorded?.version !== LAYOUT)
    await layouts
      .updateOne({ _id: 'layout' }, { $max: { version: LAYOUT } }, { ...options, upsert: true })
      .catch(ignoreDuplicate);
  const from = recorded?.version ?? (existing.size > 0 ? 1 : LAYOUT);
  if (from !== LAYOUT) onMigrated({ from, to: LAYOUT });
  return changed;
}

async function createCollection({ db }: Database, { name, schema }: CollectionDefinition): Promise<void> {
  try {
    await db.createCollection(name, { validator: { $jsonSchema: schema }, validationAction: 'error' });
  } catch (error) {
    // Another instance created it first, with the same validator.
    if (!isNamespaceTaken(error)) throw error;
  }
}

/** @returns whether it was changed */
async function adaptValidator(
  { db }: Database,
  { name, schema, defaults = {} }: CollectionDefinition,
  info: Document,
): Promise<boolean> {
  const validator = { $jsonSchema: schema };
  const { validator: current, validationAction = 'error' } = info.options ?? {};
  // collMod briefly blocks the collection, so only run it if something changes.
  if (canonical(current) === canonical(validator) && validationAction === 'error') return false;
  try {
    await db.command({ collMod: name, validator, validationLevel: 'strict', validationAction: 'error' });
    // Fields that existing documents lack. Clients get no event, as for any update without a snapshot.
    for (const [field, value] of Object.entries(defaults))
      await db.collection(name).updateMany({ [field]: { $exists: false } }, { $set: { [field]: value } });
    return true;
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    // The role readWrite does not include collMod, but everything else we need.
    if (accepts(current?.$jsonSchema, schema)) return false;
    throw new Error(
      `The validator of ${name} belongs to another version, and the user in MONGODB_URI may not replace it: ` +
        'start once with a user who also has the role dbAdmin (collMod).',
      { cause: error },
    );
  }
}

/** Whether their validator accepts our documents, judging by field names. */
function accepts(theirs: Document | undefined, ours: Document): boolean {
  if (!theirs) return true;
  const needs: string[] = theirs.required ?? [];
  const knows = Object.keys(theirs.properties ?? {});
  const has = Object.keys(ours.properties);
  return (
    needs.every((name) => ours.required.includes(name)) &&
    (theirs.additionalProperties !== false || has.every((name) => knows.includes(name)))
  );
}

const canonical = (document: unknown): string =>
  JSON.stringify(document, (_, value) => (typeof value === 'bigint' ? Number(value) : value)) ?? '';

/** Indexing a large collection can take longer than any call may. */
const WITHOUT_TIMEOUT = { socketTimeoutMS: 0 } as CreateIndexesOptions;

async function createIndexes({ db }: Database, { name, indexes }: CollectionDefinition, isNew: boolean) {
  const existing = isNew ? [] : await db.collection(name).indexes();
  const keys = existing.map(({ key }) => keyName(key));
  const missing = indexes.filter(({ key }) => !keys.includes(keyName(key)));
  if (missing.length > 0) await db.collection(name).createIndexes(missing, WITHOUT_TIMEOUT);
}

const keyName = (key: unknown): string => Object.entries(key as Document).join();

import { type ImportProgress, unfinishedImport } from '../dump.ts';
import { type CollectionDefinition, INTEGER, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';

/** Has a document while an import is unfinished. */
export const importsCollection: CollectionDefinition = {
  name: 'imports',
  schema: objectSchema({
    _id: STRING,
    manifest: STRING,
    rows: { bsonType: 'object', additionalProperties: INTEGER },
  }),
  indexes: [],
};

interface ImportDocument extends ImportProgress {
  _id: 'unfinished';
}

export const progressOf = ({ db }: Database) => db.collection<ImportDocument>(importsCollection.name);

/** @throws Error if the database has an unfinished import */
export async function refuseUnfinishedImport(database: Database): Promise<void> {
  if (await progressOf(database).findOne({ _id: 'unfinished' }, database.options))
    throw unfinishedImport('The database in MONGODB_URI');
}

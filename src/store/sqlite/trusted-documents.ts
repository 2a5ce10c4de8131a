import type { DocumentStore, TrustedDocument } from '../store.ts';
import { rowsOf } from './columns.ts';
import type { SqliteConnection, Value } from './connection.ts';
import type { Writer } from './writer.ts';

const DOCUMENTS = rowsOf('documents', ['list', 'id', 'hash', 'text', 'addedAt', 'lastUsedAt']);

/** Lists of GraphQL documents. Always read from the file, because the tool changes them beside the server. */
export function documentLists(db: SqliteConnection, writer: Writer): DocumentStore {
  const one = (condition: string, values: Value[]): TrustedDocument | null =>
    db.json<TrustedDocument>(
      `select ${DOCUMENTS.object} from documents where ${condition} limit 1`,
      values,
    ) ?? null;
  const run = async (sql: string, values: Value[]): Promise<void> => {
    await writer.write(() => db.run(sql, values));
  };

  return {
    documentByHash: async (list, hash) =>
      list === undefined ? one('hash = ?', [hash]) : one('hash = ? and list = ?', [hash, list]),
    documentById: async (list, id) => one('list = ? and id = ?', [list, id]),

    documents: async (list) =>
      db.json<TrustedDocument[]>(
        `select json_group_array(json(document)) from (
           select ${DOCUMENTS.object} as document from documents where ?1 is null or list = ?1 order by list, id
         )`,
        [list ?? null],
      )!,

    addDocuments: (documents) =>
      run(`${DOCUMENTS.insert} on conflict do nothing`, [JSON.stringify(documents)]),

    removeDocuments: (list, ids) =>
      run('delete from documents where list = ? and id in (select value from json_each(?))', [
        list,
        JSON.stringify(ids),
      ]),

    touchDocuments: (uses) =>
      run(
        `update documents set last_used_at = max(coalesce(last_used_at, 0), used.value ->> 'lastUsedAt')
         from json_each(?) as used
         where documents.list = used.value ->> 'list' and documents.id = used.value ->> 'id'`,
        [JSON.stringify(uses)],
      ),
  };
}

import { andThen } from '../../foundation/maybe-promise.ts';
import type { DocumentStore, TrustedDocument } from '../store.ts';
import type { SqliteConnection, Value } from './connection.ts';

/** A document as JSON. A merge patch leaves out what is null (RFC 7396). */
const DOCUMENT = `json_patch('{}', json_object(
  'list', list, 'id', id, 'hash', hash, 'text', text, 'addedAt', added_at, 'lastUsedAt', last_used_at
))`;

/** Lists of GraphQL documents. Always read from the file, because the tool changes them beside the server. */
export function documentLists(db: SqliteConnection): DocumentStore {
  const one = (condition: string, values: Value[]): TrustedDocument | null =>
    db.json<TrustedDocument>(`select ${DOCUMENT} from documents where ${condition} limit 1`, values) ?? null;

  return {
    documentByHash: (list, hash) =>
      list === undefined ? one('hash = ?', [hash]) : one('hash = ? and list = ?', [hash, list]),
    documentById: (list, id) => one('list = ? and id = ?', [list, id]),

    documents: (list) =>
      db.json(
        `select json_group_array(json(document)) from (
           select ${DOCUMENT} as document from documents where ?1 is null or list = ?1 order by list, id
         )`,
        [list ?? null],
      )!,

    addDocuments(documents) {
      db.run(
        `insert into documents
           select value ->> 'list', value ->> 'id', value ->> 'hash', value ->> 'text',
             value ->> 'addedAt', value ->> 'lastUsedAt'
           from json_each(?) where true
         on conflict do nothing`,
        [JSON.stringify(documents)],
      );
    },

    removeDocuments(list, ids) {
      db.run('delete from documents where list = ? and id in (select value from json_each(?))', [
        list,
        JSON.stringify(ids),
      ]);
    },

    touchDocuments(uses) {
      const touch = () =>
        db.run(
          `update documents set last_used_at = max(coalesce(last_used_at, 0), used.value ->> 'lastUsedAt')
           from json_each(?) as used
           where documents.list = used.value ->> 'list' and documents.id = used.value ->> 'id'`,
          [JSON.stringify(uses)],
        );
      return andThen(db.whenFree(touch), () => {});
    },
  };
}

import type { DocumentStore, TrustedDocument } from '../store.ts';
import type { Connection, Value } from './connection.ts';

type Row = [list: string, id: string, hash: string, text: string, addedAt: number, lastUsedAt: number | null];

const ROW = 'json_array(list, id, hash, text, added_at, last_used_at)';

const decode = ([list, id, hash, text, addedAt, lastUsedAt]: Row): TrustedDocument => ({
  ...{ list, id, hash, text, addedAt },
  ...(lastUsedAt !== null && { lastUsedAt }),
});

/** Lists of GraphQL documents. Always read from the file, because the tool changes them beside the server. */
export function documentLists(db: Connection): DocumentStore {
  const one = (condition: string, values: Value[]): TrustedDocument | null => {
    const text = db.value(`select ${ROW} from documents where ${condition} limit 1`, values);
    return text === undefined ? null : decode(JSON.parse(text as string));
  };

  return {
    documentByHash: (list, hash) =>
      list === undefined ? one('hash = ?', [hash]) : one('hash = ? and list = ?', [hash, list]),
    documentById: (list, id) => one('list = ? and id = ?', [list, id]),

    documents(list) {
      const text = db.value(
        `select json_group_array(json(document)) from (
           select ${ROW} as document from documents where ?1 is null or list = ?1 order by list, id
         )`,
        [list ?? null],
      );
      return (JSON.parse(text as string) as Row[]).map(decode);
    },

    addDocuments(documents) {
      const rows = documents.map(
        ({ list, id, hash, text, addedAt, lastUsedAt = null }): Row => [
          ...([list, id, hash, text, addedAt, lastUsedAt] as Row),
        ],
      );
      db.run(
        `insert into documents
           select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
           from json_each(?) where true
         on conflict do nothing`,
        [JSON.stringify(rows)],
      );
    },

    removeDocuments(list, ids) {
      db.run('delete from documents where list = ? and id in (select value from json_each(?))', [
        list,
        JSON.stringify(ids),
      ]);
    },

    touchDocuments(uses) {
      db.run(
        `update documents set last_used_at = max(coalesce(last_used_at, 0), used.value ->> 2)
         from json_each(?) as used where documents.list = used.value ->> 0 and documents.id = used.value ->> 1`,
        [JSON.stringify(uses.map(({ list, id, lastUsedAt }) => [list, id, lastUsedAt]))],
      );
    },
  };
}

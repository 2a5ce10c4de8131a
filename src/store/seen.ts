/** Texts that were seen, however many. */
export interface Seen {
  /** Adds texts. @returns for each, whether it was there before */
  addAll(texts: readonly string[]): boolean[];
  close(): void;
}

/** Opens an empty set that is kept in a temporary file without a name, and not in memory. */
export async function openSeen(): Promise<Seen> {
  const { SqliteConnection } = await import('./sqlite/connection.ts');
  // By SQLite's rules, a database without a name.
  const db = new SqliteConnection('', 0);
  db.exec('pragma temp_store = file; create table seen (text text primary key) strict, without rowid; begin');
  return {
    addAll(texts) {
      const known = new Set(
        db.json<string[]>(
          'select json_group_array(text) from seen where text in (select value from json_each(?))',
          [JSON.stringify(texts)],
        ),
      );
      const before = texts.map((text) => {
        const wasThere = known.has(text);
        known.add(text);
        return wasThere;
      });
      db.run('insert or ignore into seen select value from json_each(?)', [JSON.stringify(texts)]);
      return before;
    },
    close: () => db.close(),
  };
}

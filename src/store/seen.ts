/** A set of texts, of any size. */
export interface DiskSet {
  /** Adds texts. @returns true for each text that was in the set before */
  addAll(texts: readonly string[]): boolean[];
  /** The texts that are in the set. */
  those(texts: readonly string[]): Set<string>;
  close(): void;
}

/** Opens an empty set in an unnamed temporary file. */
export async function openDiskSet(): Promise<DiskSet> {
  const { SqliteConnection } = await import('./sqlite/connection.ts');
  // SQLite takes an empty name for a temporary database on disk.
  const db = new SqliteConnection('', 0);
  db.keepSmall();
  db.exec('pragma temp_store = file; create table seen (text text primary key) strict, without rowid; begin');
  const those = (texts: readonly string[]) =>
    new Set(
      db.json<string[]>(
        'select json_group_array(text) from seen where text in (select value from json_each(?))',
        [JSON.stringify(texts)],
      ),
    );
  return {
    those,
    addAll(texts) {
      const stored = those(texts);
      const before = texts.map((text) => {
        const wasThere = stored.has(text);
        stored.add(text);
        return wasThere;
      });
      db.run('insert or ignore into seen select value from json_each(?)', [JSON.stringify(texts)]);
      return before;
    },
    close: () => db.close(),
  };
}

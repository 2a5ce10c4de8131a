import type { SqliteConnection } from './connection.ts';

/** The mark of our files (`pragma application_id`): `Pets`. */
export const APPLICATION_ID = 0x50657473;

/**
 * The SQL that sets up an empty file, with all tables except those of records (`record-schema.ts`).
 *
 * `stored_objects` has everything but records, such as API keys and trusted documents (`objects.ts`), and
 * `object_terms` the terms to find them by. `ids` has the last assigned id of each kind of record. `events` is the
 * event log, whose positions have no gaps; `event_log` has its unique name and the last removed position.
 */
export const NEW_FILE = `
  pragma application_id = ${APPLICATION_ID};
  begin;
  create table usage (api_key_id text primary key, state text not null) strict, without rowid;

  create table stored_objects (
    kind text not null,
    key text not null,
    value text not null,
    expires_at integer,
    primary key (kind, key)
  ) strict;
  create index objects_by_expiry on stored_objects (expires_at) where expires_at is not null;
  create table object_terms (
    kind text not null,
    term text not null,
    key text not null,
    primary key (kind, term, key)
  ) strict, without rowid;
  create index terms_by_key on object_terms (kind, key);

  create table ids (records text primary key, last integer not null) strict, without rowid;

  create table events (
    position integer primary key,
    type text not null,
    time integer not null,
    record text not null
  ) strict;
  create index events_by_type on events (type);
  create table event_log (name text not null, removed integer not null) strict;
  insert into event_log values (lower(hex(randomblob(4))), 0);

  pragma user_version = 1;
  commit;
`;

/**
 * The migrations from layout 1 to 2, 2 to 3 and so on. Released ones never change. New files don't need them:
 * {@link NEW_FILE} and the declarations of records include their results.
 */
export const MIGRATIONS: readonly string[] = [];

/** The layout version of a file. */
export const layoutOf = (db: SqliteConnection): number => Number(db.value('pragma user_version'));

/** Brings a file to the latest layout. No other process may use it. */
export const migrate = (db: SqliteConnection, migrations: readonly string[]): void =>
  db.transaction(() => {
    for (const statements of migrations.slice(layoutOf(db) - 1)) db.exec(statements);
    db.exec(`pragma user_version = ${1 + migrations.length}`);
  });

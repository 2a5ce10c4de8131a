import type { SqliteConnection } from './connection.ts';

/** Tells our files from those of other programs (`pragma application_id`): `Pets`. */
export const APPLICATION_ID = 0x50657473;

/**
 * Tables that hold no records; those of records follow from their declarations (`record-schema.ts`).
 *
 * `ids` has the last id that was assigned to each kind of record.
 * `events` is the event log, whose positions have no gaps; `event_log` has a name that identifies it, and the last
 * position removed.
 */
const LAYOUT = `
  create table api_keys (
    id text primary key,
    name text not null,
    plan text not null,
    per_minute integer not null,
    per_day integer not null,
    created_at integer not null,
    kind text,
    revoked_at integer,
    expires_at integer,
    scopes text,
    allow text,
    documents text,
    last_used_at integer
  ) strict;
  create table api_key_secrets (
    hash text primary key,
    api_key_id text not null references api_keys (id),
    prefix text not null,
    expires_at integer
  ) strict;
  create index secrets_by_key on api_key_secrets (api_key_id);

  create table usage (api_key_id text primary key, state text not null) strict, without rowid;
  create table usage_days (
    api_key_id text not null,
    date text not null,
    operation text not null,
    transport text not null,
    requests integer not null,
    units integer not null,
    refused integer not null,
    primary key (api_key_id, date, operation, transport)
  ) strict, without rowid;
  create index usage_days_by_date on usage_days (date);

  create table idempotency (
    api_key_id text not null,
    idempotency_key text not null,
    fingerprint text not null,
    value text not null,
    expires_at integer not null,
    primary key (api_key_id, idempotency_key)
  ) strict;
  create index idempotency_by_expiry on idempotency (expires_at);

  create table documents (
    list text not null,
    id text not null,
    hash text not null,
    text text not null,
    added_at integer not null,
    last_used_at integer,
    primary key (list, id)
  ) strict, without rowid;
  create index documents_by_hash on documents (hash, list);

  create table webhooks (
    id text primary key,
    api_key_id text not null,
    created_at integer not null,
    version integer not null,
    settings text not null,
    progress text not null
  ) strict;
  create index webhooks_by_key on webhooks (api_key_id);

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
`;

/** The first layout that this program reads. */
const FIRST = 1;

/** SQL that leads from layout 1 to 2, from 2 to 3 and so on. Released migrations never change. */
export const MIGRATIONS: readonly string[] = [];

export const latestOf = (migrations: readonly string[]): number => FIRST + migrations.length;

/** SQL that makes an empty file one of ours. */
export const newFile = (migrations = MIGRATIONS): string => `
  pragma application_id = ${APPLICATION_ID};
  begin;
  ${LAYOUT}
  ${migrations.join('\n')}
  pragma user_version = ${latestOf(migrations)};
  commit;
`;

/** The layout of a file. */
export const layoutOf = (db: SqliteConnection): number => Number(db.value('pragma user_version'));

/** Whether a layout can be brought to the latest. */
export const isKnown = (layout: number, migrations = MIGRATIONS): boolean =>
  layout >= FIRST && layout <= latestOf(migrations);

/** Brings a file with a known layout to the latest. Nobody else may use it. @returns the layout it had */
export const migrate = (db: SqliteConnection, migrations = MIGRATIONS): number =>
  db.transaction(() => {
    const from = layoutOf(db);
    for (const statements of migrations.slice(from - FIRST)) db.exec(statements);
    db.exec(`pragma user_version = ${latestOf(migrations)}`);
    return from;
  });

import type { SqliteConnection } from './connection.ts';

/**
 * SQL by the schema version it leads to, as recorded in `user_version`. Released migrations never change. A
 * new one gets the version after the latest release.
 */
type Migrations = Readonly<Record<number, string>>;

/**
 * Tables that hold no records; those of records follow from their declarations (`record-schema.ts`).
 *
 * `event_groups` is the event log. A row has events written together, as `[type, time, record]`, with
 * the position of the first and the time of the last. Positions have no gaps. The newest row is never
 * removed, so that no position is reused. `event_types` has the blocks of 64 positions in which a row with a type begins.
 * `event_log` has a name that identifies this log, and the last position removed.
 */
const MIGRATIONS: Migrations = {
  1: `
  create table api_keys (
    id text primary key,
    name text not null,
    plan text not null,
    per_minute integer not null,
    per_day integer not null,
    created_at integer not null,
    revoked_at integer
  ) strict;
  create table api_key_secrets (
    hash text primary key,
    api_key_id text not null references api_keys (id),
    prefix text not null,
    expires_at integer
  ) strict;
  create index secrets_by_key on api_key_secrets (api_key_id);

  create table usage (api_key_id text primary key, state text not null) strict, without rowid;

  create table idempotency (
    api_key_id text not null,
    idempotency_key text not null,
    fingerprint text not null,
    outcome text not null,
    expires_at integer not null,
    primary key (api_key_id, idempotency_key)
  ) strict;
  create index idempotency_by_expiry on idempotency (expires_at);
  `,
  2: `
  create table events (
    position integer primary key,
    type text not null,
    time integer not null,
    record text not null
  ) strict;

  create table event_log (name text not null, removed integer not null) strict;
  insert into event_log values (lower(hex(randomblob(4))), 0);
  `,
  3: `
  create table event_groups (first integer primary key, time integer not null, events text not null) strict;
  insert into event_groups
    select position, time, json_array(json_array(type, time, json(record))) from events order by position;
  drop table events;
  `,
  4: `
  create table event_types (
    type text not null, block integer not null, primary key (type, block)
  ) strict, without rowid;
  insert into event_types select distinct value ->> 0, first / 64 from event_groups, json_each(events);
  alter table api_keys add column expires_at integer;
  alter table api_keys add column scopes text;
  alter table api_keys add column allow text;
  alter table api_keys add column documents text;
  alter table api_keys add column last_used_at integer;
  alter table api_keys add column kind text;
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
  `,
};

/** The schema version of this program. */
export const LATEST = Math.max(...Object.keys(MIGRATIONS).map(Number));

/**
 * Migrates a data file to the latest schema.
 *
 * @param latest an earlier version, in tests of migrations
 * @returns the schema version it had; 0 for a new file
 *
 * @throws Error if it was written by a later version of this program
 */
export function migrate(db: SqliteConnection, latest = LATEST): number {
  const version = () => Number(db.value('pragma user_version'));
  if (version() === latest) return latest;
  return db.transaction(() => {
    // Read again inside the transaction: the server and the key tool may both open a new file.
    const from = version();
    if (from > latest) {
      throw new Error(
        `The data file has schema version ${from}; this program supports versions up to ${latest}.`,
      );
    }
    for (let next = from + 1; next <= latest; next++) db.exec(MIGRATIONS[next]!);
    db.exec(`pragma user_version = ${latest}`);
    return from;
  });
}

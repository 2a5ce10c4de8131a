import type { Connection } from './connection.ts';

/**
 * One entry per version of the schema, never changed once released: `user_version` says how many a file has seen.
 *
 * `pet_counts` and `order_counts` keep what `totalCount` asks for (a count in SQLite reads the whole index); row 0 of
 * `pet_counts` is the sum over all categories. `chosen_order_ids` has the ids that clients chose above the last
 * assigned one, those of deleted orders included, so that assigning can step over them.
 *
 * `events` is the log of changes. Positions have no gaps; the newest row is never removed, so that none is given twice.
 * `event_log` has the name that tells the log from that of any other file, and the last position that was removed.
 */
const MIGRATIONS = [
  `
  create table categories (
    id integer primary key autoincrement,
    name text not null,
    description text
  ) strict;

  create table pets (
    id integer primary key autoincrement,
    name text not null,
    category_id integer not null references categories (id),
    status text not null check (status in ('available', 'pending', 'sold')),
    quantity integer not null check (quantity between 0 and 2147483647)
  ) strict;
  create index pets_by_category on pets (category_id, id);
  create index pets_by_status on pets (status, id);
  create index pets_by_category_and_status on pets (category_id, status, id);

  create table pet_counts (
    category_id integer not null,
    status text not null,
    pets integer not null,
    primary key (category_id, status)
  ) strict, without rowid;
  create trigger count_new_pet after insert on pets begin
    insert into pet_counts values (0, new.status, 1), (new.category_id, new.status, 1)
      on conflict do update set pets = pets + 1;
  end;
  create trigger count_deleted_pet after delete on pets begin
    update pet_counts set pets = pets - 1 where category_id in (0, old.category_id) and status = old.status;
  end;
  create trigger count_moved_pet after update of category_id, status on pets
  when old.category_id <> new.category_id or old.status <> new.status begin
    update pet_counts set pets = pets - 1 where category_id in (0, old.category_id) and status = old.status;
    insert into pet_counts values (0, new.status, 1), (new.category_id, new.status, 1)
      on conflict do update set pets = pets + 1;
  end;
  create trigger forget_counts_of_category after delete on categories begin
    delete from pet_counts where category_id = old.id;
  end;

  create table orders (
    id integer primary key,
    pet_id integer,
    quantity integer,
    ship_date integer,
    complete integer not null check (complete in (0, 1))
  ) strict;
  create index orders_by_pet on orders (pet_id, id);
  create index orders_by_complete on orders (complete, id);
  create index orders_by_pet_and_complete on orders (pet_id, complete, id);

  create table order_counts (complete integer primary key, orders integer not null) strict;
  insert into order_counts values (0, 0), (1, 0);
  create trigger count_new_order after insert on orders begin
    update order_counts set orders = orders + 1 where complete = new.complete;
  end;
  create trigger count_deleted_order after delete on orders begin
    update order_counts set orders = orders - 1 where complete = old.complete;
  end;
  create trigger count_completed_order after update of complete on orders when old.complete <> new.complete begin
    update order_counts set orders = orders - 1 where complete = old.complete;
    update order_counts set orders = orders + 1 where complete = new.complete;
  end;

  create table assigned_order_ids (last integer not null) strict;
  insert into assigned_order_ids values (0);
  create table chosen_order_ids (id integer primary key) strict;

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
  `
  create table events (
    position integer primary key,
    type text not null,
    time integer not null,
    record text not null
  ) strict;

  create table event_log (name text not null, removed integer not null) strict;
  insert into event_log values (lower(hex(randomblob(4))), 0);
  `,
];

/**
 * Brings a data file to the newest schema.
 *
 * @throws Error if a newer version of this program has written it
 */
export function migrate(db: Connection): void {
  const version = () => Number(db.value('pragma user_version'));
  if (version() === MIGRATIONS.length) return;
  db.transaction(() => {
    // Asked again inside the transaction: the server and the key tool may meet on a new file.
    const from = version();
    if (from > MIGRATIONS.length) {
      throw new Error(
        `The data file has schema version ${from}; this program knows versions up to ${MIGRATIONS.length}.`,
      );
    }
    for (const statements of MIGRATIONS.slice(from)) db.exec(statements);
    db.exec(`pragma user_version = ${MIGRATIONS.length}`);
  });
}

import type { Id } from '../../domains/id.ts';
import type { Connection } from './connection.ts';
import type { Append } from './event-log.ts';
import type { Records, RecordTable } from './records.ts';

/**
 * SQL by the version of the schema that it leads to, never changed once released: `user_version` says which version a file has.
 * The version of something new is the one after the latest that is released.
 */
export type Migrations = Readonly<Record<number, string>>;

/** What a domain has to work with. */
export interface DomainContext {
  db: Connection;
  /** To be called with each change, in the transaction that makes it. */
  append: Append;
  /** The reads of a table. */
  records<T extends { id: Id }>(table: RecordTable<T>): Records<T>;
  /** Whether another domain's table has a record with this id. */
  exists(table: string, id: Id): boolean;
}

/** A domain in the embedded engine: its tables, and its methods of the port. */
export interface SqliteDomain {
  migrations: Migrations;
  open(tools: DomainContext): { reads: object; writes: object };
}

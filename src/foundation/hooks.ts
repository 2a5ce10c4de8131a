import type { Id } from './id.ts';
import type { AnyHooks } from './record.ts';
import type { Tables } from './table.ts';

/** The change of a record: a creation has no `before`, a deletion no `after`. */
export interface Change<R> {
  before: R | undefined;
  after: R | undefined;
}

/** The same before it is written: a new record has an id only if its client has chosen it. */
type Planned<R> = Change<R> | { before: undefined; after: Omit<R, 'id'> & { id?: Id } };

/**
 * The rules of a shop for a kind of record. They run in the transaction of the change, whoever makes it, but not in an
 * import. To refuse it they throw one of their refusals, or what a table refuses.
 */
export interface Hooks<R> extends AnyHooks {
  /** Before the record is written, once its own rules and references hold. Must not write the record itself. */
  before?(change: Planned<R>, tables: Tables): void | Promise<void>;
  /** After the record is written, in the same commit. */
  after?(change: Change<R>, tables: Tables): void | Promise<void>;
}

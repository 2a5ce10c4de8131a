import type { Id } from '../../domains/id.ts';

export const MAX_ID = 2n ** 63n - 1n;

/** An id of the port as the database keeps it. */
export const toKey = (id: Id): bigint => BigInt(id);

/** A key of the database as an id of the port. */
export const toId = (key: bigint | number): Id => String(key);

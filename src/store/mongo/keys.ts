import type { Id } from '../../foundation/id.ts';

/** Converts an id of the port to a database key. */
export const toKey = (id: Id): bigint => BigInt(id);

/** Converts a database key to an id of the port. */
export const toId = (key: bigint | number): Id => String(key);

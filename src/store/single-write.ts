import type { Engine, EngineTransaction } from './engine.ts';

/**
 * Limits a transaction to the single write that was announced. Engines commit a single write without a real
 * transaction, so a second one would be committed separately.
 *
 * @returns the same transaction, whose second write throws, as a programming error
 */
export function singleWrite({ rows, objects }: EngineTransaction): EngineTransaction {
  let hasWritten = false;
  const beforeWrite = (): void => {
    if (hasWritten) throw new Error('A single write was followed by another: leave out `single`.');
    hasWritten = true;
  };
  const write = async <T>(command: () => Promise<T>): Promise<T> => {
    beforeWrite();
    return await command();
  };
  return {
    rows,
    beforeWrite,
    objects(kind) {
      const own = objects(kind);
      return {
        ...own,
        put: (put) => write(() => own.put(put)),
        delete: (keys) => write(() => own.delete(keys)),
        deleteBefore: (keys) => write(() => own.deleteBefore(keys)),
      };
    },
  };
}

/** Makes an engine enforce that `single` transactions make one write. */
export const withSingleWrites = <E extends Pick<Engine, 'transaction'>>(engine: E): E => ({
  ...engine,
  transaction: ((work, how) =>
    engine.transaction(
      how === 'single' ? (own) => work(singleWrite(own)) : work,
      how,
    )) satisfies Engine['transaction'],
});

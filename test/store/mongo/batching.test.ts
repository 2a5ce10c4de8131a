import { describe, expect, it } from 'vitest';
import { batch, gather } from '../../../src/store/mongo/batching.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('batch', () => {
  it('batches the calls of one turn, and returns each its own result', async () => {
    const batches: number[][] = [];
    const double = batch<number, number>(async (all) => {
      batches.push([...all]);
      return all.map((n) => 2 * n);
    });
    const first = [1, 2, 3, 4].map(double);
    await turn();
    expect(await Promise.all([...first, double(5)])).toEqual([2, 4, 6, 8, 10]);
    expect(batches).toEqual([[1, 2, 3, 4], [5]]);
  });

  it('rejects all calls of a failed batch, but not later ones', async () => {
    let broken = true;
    const read = batch<number, number>(async (all) => {
      if (broken) throw new Error('away');
      return all;
    });
    const failed = await Promise.allSettled([read(1), read(2)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    broken = false;
    expect(await read(3)).toBe(3);
  });
});

describe('gather', () => {
  it('does not wait forever for a command, nor do the calls after it', async () => {
    let isLost = true;
    const send = gather<number, number>(
      (_name, all) => (isLost ? new Promise(() => {}) : Promise.resolve(all)),
      20,
    );
    await expect(send('n', 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    isLost = false;
    expect(await send('n', 2)).toBe(2);
  });
});

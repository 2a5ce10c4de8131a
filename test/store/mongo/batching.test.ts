import { describe, expect, it } from 'vitest';
import { batch, gather, limitConcurrency, singleFlight } from '../../../src/store/mongo/batching.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('batch', () => {
  it('batches the calls of one turn, up to the maximum, and returns each its own result', async () => {
    const batches: number[][] = [];
    const double = batch<number, number>(
      async (all) => {
        batches.push([...all]);
        return all.map((n) => 2 * n);
      },
      { max: 3 },
    );
    const first = [1, 2, 3, 4].map(double);
    await turn();
    expect(await Promise.all([...first, double(5)])).toEqual([2, 4, 6, 8, 10]);
    expect(batches).toEqual([[1, 2, 3], [4], [5]]);
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

  it('shares one result between equal calls of one turn', async () => {
    let reads = 0;
    const read = batch<string, number>(async (all) => all.map(() => ++reads), { nameOf: (name) => name });
    expect(await Promise.all(['a', 'a', 'b'].map(read))).toEqual([1, 1, 2]);
    expect(await read('a')).toBe(3);
  });
});

describe('singleFlight', () => {
  it('lets callers that arrive during a read share the next one', async () => {
    let [value, running, most] = [1, 0, 0];
    const count = singleFlight<number>();
    const read = async () => {
      most = Math.max(most, ++running);
      const result = value;
      await turn();
      running--;
      return result;
    };
    const first = count('n', read);
    await turn();
    value = 2;
    const later = [count('n', read), count('n', read)];
    expect(await Promise.all([first, ...later])).toEqual([1, 2, 2]);
    expect(await count('n', read)).toBe(2);
    expect(most).toBe(1);
  });

  it('continues after a failure', async () => {
    const count = singleFlight<number>();
    const failed = count('n', () => Promise.reject(new Error('away')));
    await expect(failed).rejects.toThrow('away');
    expect(await count('n', async () => 7)).toBe(7);
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

describe('limitConcurrency', () => {
  it('runs at most two reads at a time, in order, whether they fail or not', async () => {
    let [running, most] = [0, 0];
    const started: number[] = [];
    const limited = limitConcurrency<number>(2);
    const read = (n: number) => async () => {
      started.push(n);
      most = Math.max(most, ++running);
      await turn();
      running--;
      if (n % 2) throw new Error('odd');
      return n;
    };
    const first = [0, 1, 2, 3, 4].map((n) => limited(read(n)));
    const outcomes = await Promise.allSettled(first);
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, false, true]);
    expect(await limited(read(6))).toBe(6);
    expect(started).toEqual([0, 1, 2, 3, 4, 6]);
    expect(most).toBe(2);
  });
});

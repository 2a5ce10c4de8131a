import { describe, expect, it } from 'vitest';
import { batch, dedupe, limitConcurrency, singleFlight } from '../../../src/store/mongo/batching.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('What goes together', () => {
  it('is what is asked for in one turn, each with its answer', async () => {
    const batches: number[][] = [];
    const double = batch<number, number>(async (all) => {
      batches.push([...all]);
      return all.map((n) => 2 * n);
    }, 3);
    const first = [1, 2, 3, 4].map(double);
    await turn();
    expect(await Promise.all([...first, double(5)])).toEqual([2, 4, 6, 8, 10]);
    expect(batches).toEqual([[1, 2, 3], [4], [5]]);
  });

  it('fails together, and not those who come after', async () => {
    let broken = true;
    const ask = batch<number, number>(async (all) => {
      if (broken) throw new Error('away');
      return all;
    });
    const failed = await Promise.allSettled([ask(1), ask(2)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    broken = false;
    expect(await ask(3)).toBe(3);
  });

  it('is one answer for the same question in one turn', async () => {
    let asked = 0;
    const once = dedupe<number>();
    const ask = async () => ++asked;
    expect(await Promise.all([once('a', ask), once('a', ask), once('b', ask)])).toEqual([1, 1, 2]);
    expect(await once('a', ask)).toBe(3);
  });
});

describe('One at a time', () => {
  it('gives those who come later an answer that began after they came', async () => {
    let [value, running, most] = [1, 0, 0];
    const count = singleFlight<number>();
    const ask = async () => {
      most = Math.max(most, ++running);
      const read = value;
      await turn();
      running--;
      return read;
    };
    const first = count('n', ask);
    value = 2;
    const later = [count('n', ask), count('n', ask)];
    expect(await Promise.all([first, ...later])).toEqual([1, 2, 2]);
    expect(await count('n', ask)).toBe(2);
    expect(most).toBe(1);
  });

  it('goes on after a failure', async () => {
    const count = singleFlight<number>();
    const failed = count('n', () => Promise.reject(new Error('away')));
    const next = count('n', async () => 7);
    await expect(failed).rejects.toThrow('away');
    expect(await next).toBe(7);
  });
});

describe('At most so many', () => {
  it('are under way, in the order in which they came, whether they fail or not', async () => {
    let [running, most] = [0, 0];
    const started: number[] = [];
    const limited = limitConcurrency<number>(2);
    const ask = (n: number) => async () => {
      started.push(n);
      most = Math.max(most, ++running);
      await turn();
      running--;
      if (n % 2) throw new Error('odd');
      return n;
    };
    const first = [0, 1, 2, 3, 4].map((n) => limited(ask(n)));
    const outcomes = await Promise.allSettled(first);
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, false, true]);
    expect(await limited(ask(6))).toBe(6);
    expect(started).toEqual([0, 1, 2, 3, 4, 6]);
    expect(most).toBe(2);
  });
});

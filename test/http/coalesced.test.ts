import { describe, expect, it } from 'vitest';
import { coalesced } from '../../src/http/coalesced.ts';

describe('coalesced', () => {
  it('runs once for concurrent calls and again for calls made after it started', async () => {
    let state = 0;
    let runs = 0;
    const begun: (() => void)[] = [];
    const call = coalesced(async () => {
      runs++;
      const seen = state;
      await new Promise<void>((resolve) => begun.push(resolve));
      return seen;
    }, 0);
    const first = [call(), call()];
    await expect.poll(() => begun.length).toBe(1);
    state = 1;
    const second = [call(), call(), call()];
    begun.shift()!();
    expect(await Promise.all(first)).toEqual([0, 0]);
    await expect.poll(() => begun.length).toBe(1);
    begun.shift()!();
    expect(await Promise.all(second)).toEqual([1, 1, 1]);
    expect(runs).toBe(2);
  });

  it('waits for the minimum interval between two runs', async () => {
    const times: number[] = [];
    const call = coalesced(() => times.push(performance.now()), 60);
    for (let i = 0; i < 3; i++) await call();
    for (let i = 1; i < 3; i++) expect(times[i]! - times[i - 1]!).toBeGreaterThan(50);
  });

  it('rejects all callers of a failed run and runs again for the next call', async () => {
    let runs = 0;
    const call = coalesced(() => {
      if (++runs === 1) throw new Error('away');
      return 'there';
    }, 0);
    const results = await Promise.allSettled([call(), call()]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await call()).toBe('there');
  });
});

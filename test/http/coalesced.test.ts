import { describe, expect, it } from 'vitest';
import { coalesced } from '../../src/http/coalesced.ts';

describe('shared work', () => {
  it('is done once for all who ask at a time, and afresh for who asks later', async () => {
    let state = 0;
    let runs = 0;
    const begun: (() => void)[] = [];
    const ask = coalesced(async () => {
      runs++;
      const seen = state;
      await new Promise<void>((resolve) => begun.push(resolve));
      return seen;
    }, 0);
    const first = [ask(), ask()];
    await expect.poll(() => begun.length).toBe(1);
    state = 1;
    const second = [ask(), ask(), ask()];
    begun.shift()!();
    expect(await Promise.all(first)).toEqual([0, 0]);
    await expect.poll(() => begun.length).toBe(1);
    begun.shift()!();
    expect(await Promise.all(second)).toEqual([1, 1, 1]);
    expect(runs).toBe(2);
  });

  it('begins no more often than it may', async () => {
    const times: number[] = [];
    const ask = coalesced(() => times.push(performance.now()), 60);
    for (let i = 0; i < 3; i++) await ask();
    for (let i = 1; i < 3; i++) expect(times[i]! - times[i - 1]!).toBeGreaterThan(50);
  });

  it('that fails fails for those who asked, and is tried again for the next', async () => {
    let runs = 0;
    const ask = coalesced(() => {
      if (++runs === 1) throw new Error('away');
      return 'there';
    }, 0);
    const refused = await Promise.allSettled([ask(), ask()]);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await ask()).toBe('there');
  });
});

import { expect, it } from 'vitest';
import { gather } from '../../../src/store/mongo/batching.ts';

it('gather does not wait forever for a command, nor do the calls after it', async () => {
  let isLost = true;
  const send = gather<number, number>(
    (_name, all) => (isLost ? new Promise(() => {}) : Promise.resolve(all)),
    20,
  );
  await expect(send('n', 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  isLost = false;
  expect(await send('n', 2)).toBe(2);
});

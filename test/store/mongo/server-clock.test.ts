import { describe, expect, it } from 'vitest';
import { ServerClock } from '../../../src/store/mongo/server-clock.ts';

describe('The clock of the server', () => {
  /** A server whose clock is ahead, and that answers so many milliseconds after it was asked, half of them on the way. */
  function clocks() {
    const world = { own: 1_000_000, ahead: 0, trip: 0 };
    const clock = new ServerClock(
      async () => {
        const time = world.own + world.trip / 2 + world.ahead;
        world.own += world.trip;
        return new Date(time);
      },
      () => world.own,
    );
    return { world, clock };
  }

  it('is ours as long as both may be the same', async () => {
    const { world, clock } = clocks();
    for (const [ahead, trip] of [
      [0, 0],
      [1, 0],
      [40, 100],
      [-40, 100],
    ]) {
      Object.assign(world, { ahead, trip });
      await clock.measure();
      expect(clock.offset()).toBe(0);
    }
  });

  it('is known to half the time of an exchange, and does not waver', async () => {
    const { world, clock } = clocks();
    Object.assign(world, { ahead: 5_000, trip: 20 });
    await clock.measure();
    expect(clock.offset()).toBe(5_000);
    expect(clock.now()).toBe(world.own + 5_000);
    Object.assign(world, { ahead: 5_300, trip: 1_000 });
    await clock.measure();
    expect(clock.offset()).toBe(5_000);
    Object.assign(world, { ahead: -70_000, trip: 2 });
    await clock.measure();
    expect(clock.offset()).toBe(-70_000);
    world.ahead = 0;
    await clock.measure();
    expect(clock.offset()).toBe(0);
  });

  it('that is not told leaves what was known', async () => {
    const clock = new ServerClock(async () => undefined, Date.now);
    await clock.measure();
    expect(clock.offset()).toBe(0);
  });
});

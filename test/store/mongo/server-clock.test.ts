import { describe, expect, it } from 'vitest';
import { ServerClock } from '../../../src/store/mongo/server-clock.ts';

describe('ServerClock', () => {
  /** A server whose clock is `ahead` milliseconds ahead, with a round trip of `trip` milliseconds. */
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

  it('has an offset of 0 as long as both clocks may agree', async () => {
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

  it('measures the offset to half a round trip, and keeps an estimate that may still be right', async () => {
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

  it('keeps an offset of 0 if the server does not report its time', async () => {
    const clock = new ServerClock(async () => undefined, Date.now);
    await clock.measure();
    expect(clock.offset()).toBe(0);
  });
});

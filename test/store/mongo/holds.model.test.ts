import { describe, expect, it } from 'vitest';

/**
 * The protocol of `src/store/mongo/holds.ts` as a small state machine, and all the ways in which it can run: every
 * interleaving of the steps of two creators, a mover and two deleters, where each may die before each of its steps, and where time
 * may be up for the marks and holds of the dead (and of those who are too slow) at any moment.
 *
 * A step is one command to the database, which is atomic; its letters are those of `holds.ts`.
 */
interface State {
  /** Whether the parents are there. The children's first parent is 0; the mover takes one from 1 to 0. */
  parent: boolean;
  /** The child that moves belongs to the parent. */
  moved: boolean;
  /** Children that were created. */
  children: number;
  /** Who has a hold on the parent. */
  holders: number[];
  /** Whose mark is on the parent, and whether it counts no more. */
  mark: number | null;
  markIsVoid: boolean;
  /** Marks whose time for D is over; always before the mark counts no more. */
  tooLate: number[];
  actors: Actor[];
}

interface Actor {
  kind: 'creator' | 'mover' | 'deleter';
  at: 'H' | 'V' | 'I' | 'R' | 'M' | 'wait' | 'C' | 'D' | 'Z' | 'end';
  isDead: boolean;
  /** What M met. */
  waitFor: number[];
  result: 'written' | 'deleted' | 'refused' | 'missing' | null;
}

type Bug =
  | 'no V'
  | 'R before I'
  | 'C before wait'
  | 'no hold'
  | 'D without a limit'
  | 'mark for ever'
  | 'hold for ever';

/** @returns the states that one command, one death or the passing of time leads to */
function* successors(state: State, bug?: Bug): Generator<State> {
  for (const [i, actor] of state.actors.entries()) {
    if (actor.isDead || actor.at === 'end') continue;
    yield* step(state, i, bug);
    yield changed(state, i, { isDead: true, at: 'end', waitFor: [], result: null });
  }
  // Time: a mark is too late for D, and later counts no more.
  if (state.mark !== null && bug !== 'mark for ever') {
    if (!state.tooLate.includes(state.mark))
      yield { ...state, tooLate: [...state.tooLate, state.mark].sort() };
    else if (!state.markIsVoid) yield { ...state, markIsVoid: true };
  }
  // A hold counts much longer than its owner can take for I, so only those of the dead run out.
  for (const holder of state.holders) {
    if (!state.actors[holder]!.isDead || bug === 'hold for ever') continue;
    yield { ...state, holders: state.holders.filter((other) => other !== holder) };
  }
}

const changed = (state: State, i: number, actor: Partial<Actor>, rest: Partial<State> = {}): State => ({
  ...state,
  ...rest,
  actors: state.actors.map((one, n) => (n === i ? { ...one, ...actor } : one)),
});

function* step(state: State, i: number, bug: Bug | undefined): Generator<State> {
  const actor = state.actors[i]!;
  const { parent, holders, mark, markIsVoid } = state;
  const marked = mark !== null && !markIsVoid;
  switch (actor.at) {
    case 'H': {
      if (bug === 'no hold') yield changed(state, i, { at: marked ? 'H' : 'V' });
      // It meets a deleter: gives the hold back, and comes again later, which is the same as waiting.
      else if (!marked) yield changed(state, i, { at: 'V' }, { holders: [...holders, i].sort() });
      return;
    }
    case 'V':
      if (bug === 'no V' || parent)
        yield changed(state, i, { at: 'I' }, bug === 'R before I' ? without(state, i) : {});
      else yield changed(state, i, { at: 'R', result: 'missing' });
      return;
    case 'I':
      if (actor.kind === 'mover') yield changed(state, i, { at: 'R', result: 'written' }, { moved: true });
      else yield changed(state, i, { at: 'R', result: 'written' }, { children: state.children + 1 });
      return;
    case 'R':
      yield changed(state, i, { at: 'end' }, without(state, i));
      return;
    case 'M':
      // Another deleter is at it: comes again later.
      if (marked) return;
      yield changed(
        state,
        i,
        { at: bug === 'C before wait' ? 'C' : 'wait', waitFor: holders },
        { mark: i, markIsVoid: false },
      );
      return;
    case 'wait': {
      const left = actor.waitFor.filter((holder) => holders.includes(holder));
      if (left.length === 0) yield changed(state, i, { at: bug === 'C before wait' ? 'D' : 'C' });
      // Its patience is over.
      else yield changed(state, i, { at: 'Z', result: 'refused' });
      return;
    }
    case 'C':
      if (state.children > 0 || state.moved) yield changed(state, i, { at: 'Z', result: 'refused' });
      else yield changed(state, i, { at: bug === 'C before wait' ? 'wait' : 'D' });
      return;
    case 'D':
      // The server takes it only in time, and only once.
      if (state.tooLate.includes(i) && bug !== 'D without a limit') yield changed(state, i, { at: 'Z' });
      else if (parent) yield changed(state, i, { at: 'Z', result: 'deleted' }, { parent: false });
      else yield changed(state, i, { at: 'Z', result: 'missing' });
      return;
    case 'Z':
      yield changed(state, i, { at: 'end' }, mark === i ? { mark: null, markIsVoid: false } : {});
      return;
    case 'end':
      return;
  }
}

const without = ({ holders }: State, i: number) => ({ holders: holders.filter((other) => other !== i) });

const start = (kinds: Actor['kind'][]): State => ({
  ...{ parent: true, moved: false, children: 0, holders: [], mark: null, markIsVoid: false, tooLate: [] },
  actors: kinds.map((kind) => ({
    ...{ kind, at: kind === 'deleter' ? 'M' : 'H', isDead: false, waitFor: [], result: null },
  })),
});

const nameOf = ({ actors, ...rest }: State): string =>
  [...Object.values(rest), ...actors.flatMap((actor) => Object.values(actor))].map(String).join('|');

/** All states that can be reached. */
function explore(first: State, bug?: Bug): State[] {
  const seen = new Map([[nameOf(first), first]]);
  const open = [first];
  for (let state = open.pop(); state; state = open.pop()) {
    for (const next of successors(state, bug)) {
      const name = nameOf(next);
      if (seen.has(name)) continue;
      seen.set(name, next);
      open.push(next);
    }
  }
  return [...seen.values()];
}

const hasOrphan = ({ parent, children, moved }: State): boolean => !parent && (children > 0 || moved);

/** Lets the time pass after which nothing of the dead counts, then lets one more do what it wants, alone. */
function afterwards(state: State, kind: Actor['kind'], bug?: Bug): Actor['result'][] {
  const rested = {
    ...state,
    holders: bug === 'hold for ever' ? state.holders : [],
    markIsVoid: state.mark !== null && bug !== 'mark for ever',
    actors: [...state.actors, start([kind]).actors[0]!],
  };
  const own = rested.actors.length - 1;
  const results = new Set<Actor['result']>();
  const open = [rested];
  for (let one = open.pop(); one; one = open.pop()) {
    const next = [...step(one, own, bug)];
    if (next.length === 0) results.add(one.actors[own]!.result);
    open.push(...next);
  }
  return [...results];
}

const EVERYBODY: Actor['kind'][] = ['creator', 'creator', 'mover', 'deleter'];

describe('The protocol of references', () => {
  const states = explore(start(EVERYBODY));

  it('leaves no child without its parent, whoever dies and however slow they are', {
    timeout: 120_000,
  }, () => {
    expect(states.length).toBeGreaterThan(10_000);
    expect(states.filter(hasOrphan)).toEqual([]);
    expect(explore(start(['mover', 'deleter', 'deleter'])).filter(hasOrphan)).toEqual([]);
  });

  it('can come out in every way', () => {
    const outcomes = new Set(
      states.filter(({ actors }) => actors.every(({ at }) => at === 'end')).map(({ parent }) => parent),
    );
    expect([...outcomes].sort()).toEqual([false, true]);
    const results = new Set(states.flatMap(({ actors }) => actors.map(({ result }) => result)));
    expect([...results].sort()).toEqual(['deleted', 'missing', 'refused', 'written', null].sort());
  });

  it('lets a parent be deleted and be referred to again, once the dead count no more', {
    timeout: 120_000,
  }, () => {
    const ended = states.filter(({ actors }) => actors.every(({ isDead, at }) => isDead || at === 'end'));
    expect(ended.length).toBeGreaterThan(1_000);
    for (const state of ended) {
      const { parent, children, moved } = state;
      const isFree = children === 0 && !moved;
      expect(afterwards(state, 'deleter')).toEqual([!parent ? 'missing' : isFree ? 'deleted' : 'refused']);
      expect(afterwards(state, 'creator')).toEqual([parent ? 'written' : 'missing']);
    }
  });

  // What shows that the search would find a bug.
  it.each<Bug>(['no V', 'R before I', 'C before wait', 'no hold', 'D without a limit'])(
    'without one of its steps would leave one: %s',
    (bug) => {
      expect(explore(start(['creator', 'deleter', 'deleter']), bug).some(hasOrphan)).toBe(true);
    },
  );

  it.each<[Bug, Actor['kind'], Actor['result']]>([
    ['mark for ever', 'creator', 'written'],
    ['hold for ever', 'deleter', 'deleted'],
  ])('with a %s would be held up by the dead', (bug, kind, wanted) => {
    const states = explore(start(['creator', 'deleter']), bug);
    const stuck = states.filter(
      (state) =>
        state.parent &&
        state.children === 0 &&
        state.actors.every(({ isDead, at }) => isDead || at === 'end') &&
        !afterwards(state, kind, bug).includes(wanted),
    );
    expect(stuck.length).toBeGreaterThan(0);
  });
});

import { describe, expect, it } from 'vitest';

/**
 * The protocol of `src/store/mongo/holds.ts` as a small state machine, with every interleaving of the steps of creators,
 * a mover and deleters. Each may die before any of its steps. Marks and the holds of the dead may expire at any time.
 *
 * A step is one atomic command to the database. Its letters are those in `holds.ts`.
 */
interface State {
  /** Whether the parent exists. */
  parent: boolean;
  /** Whether the mover's child belongs to the parent. */
  moved: boolean;
  /** Number of children created. */
  children: number;
  /** Indexes of the actors with a hold on the parent. */
  holders: number[];
  /** Index of the actor whose mark is on the parent. */
  mark: number | null;
  /** Whether that mark has expired. */
  markExpired: boolean;
  /** Actors whose deadline for D has passed, which is always before their mark expires. */
  pastDeadline: number[];
  actors: Actor[];
}

interface Actor {
  kind: 'creator' | 'mover' | 'deleter';
  at: 'H' | 'V' | 'I' | 'R' | 'M' | 'wait' | 'C' | 'D' | 'Z' | 'end';
  isDead: boolean;
  /** The holds that M found. */
  waitFor: number[];
  result: 'written' | 'deleted' | 'refused' | 'missing' | null;
}

type Bug =
  | 'no V'
  | 'R before I'
  | 'C before wait'
  | 'no hold'
  | 'D without a deadline'
  | 'mark without expiry'
  | 'hold without expiry';

/** @returns the states that one command, one death or the passing of time leads to */
function* successors(state: State, bug?: Bug): Generator<State> {
  for (const [i, actor] of state.actors.entries()) {
    if (actor.isDead || actor.at === 'end') continue;
    yield* step(state, i, bug);
    yield changed(state, i, { isDead: true, at: 'end', waitFor: [], result: null });
  }
  // Time passes: first the deadline for D, then the mark expires.
  if (state.mark !== null && bug !== 'mark without expiry') {
    if (!state.pastDeadline.includes(state.mark))
      yield { ...state, pastDeadline: [...state.pastDeadline, state.mark].sort() };
    else if (!state.markExpired) yield { ...state, markExpired: true };
  }
  // A hold lasts much longer than its owner can take for I, so only those of the dead expire.
  for (const holder of state.holders) {
    if (!state.actors[holder]!.isDead || bug === 'hold without expiry') continue;
    yield { ...state, holders: state.holders.filter((other) => other !== holder) };
  }
}

const changed = (state: State, i: number, actor: Partial<Actor>, rest: Partial<State> = {}): State => ({
  ...state,
  ...rest,
  actors: state.actors.map((other, n) => (n === i ? { ...other, ...actor } : other)),
});

function* step(state: State, i: number, bug: Bug | undefined): Generator<State> {
  const actor = state.actors[i]!;
  const { parent, holders, mark, markExpired } = state;
  const marked = mark !== null && !markExpired;
  switch (actor.at) {
    case 'H': {
      if (bug === 'no hold') yield changed(state, i, { at: marked ? 'H' : 'V' });
      // On finding a mark, it releases the hold and retries later, which is the same as waiting.
      else if (!marked) yield changed(state, i, { at: 'V' }, { holders: [...holders, i].sort() });
      return;
    }
    case 'V':
      if (bug === 'no V' || parent)
        yield changed(state, i, { at: 'I' }, bug === 'R before I' ? withoutHold(state, i) : {});
      else yield changed(state, i, { at: 'R', result: 'missing' });
      return;
    case 'I':
      if (actor.kind === 'mover') yield changed(state, i, { at: 'R', result: 'written' }, { moved: true });
      else yield changed(state, i, { at: 'R', result: 'written' }, { children: state.children + 1 });
      return;
    case 'R':
      yield changed(state, i, { at: 'end' }, withoutHold(state, i));
      return;
    case 'M':
      // Another deleter is active, so it retries later.
      if (marked) return;
      yield changed(
        state,
        i,
        { at: bug === 'C before wait' ? 'C' : 'wait', waitFor: holders },
        { mark: i, markExpired: false },
      );
      return;
    case 'wait': {
      const left = actor.waitFor.filter((holder) => holders.includes(holder));
      if (left.length === 0) yield changed(state, i, { at: bug === 'C before wait' ? 'D' : 'C' });
      // It has waited long enough.
      else yield changed(state, i, { at: 'Z', result: 'refused' });
      return;
    }
    case 'C':
      if (state.children > 0 || state.moved) yield changed(state, i, { at: 'Z', result: 'refused' });
      else yield changed(state, i, { at: bug === 'C before wait' ? 'wait' : 'D' });
      return;
    case 'D':
      // The server accepts it only before the deadline.
      if (state.pastDeadline.includes(i) && bug !== 'D without a deadline')
        yield changed(state, i, { at: 'Z' });
      else if (parent) yield changed(state, i, { at: 'Z', result: 'deleted' }, { parent: false });
      else yield changed(state, i, { at: 'Z', result: 'missing' });
      return;
    case 'Z':
      yield changed(state, i, { at: 'end' }, mark === i ? { mark: null, markExpired: false } : {});
      return;
    case 'end':
      return;
  }
}

const withoutHold = ({ holders }: State, i: number) => ({ holders: holders.filter((other) => other !== i) });

const start = (kinds: Actor['kind'][]): State => ({
  ...{
    parent: true,
    moved: false,
    children: 0,
    holders: [],
    mark: null,
    markExpired: false,
    pastDeadline: [],
  },
  actors: kinds.map((kind) => ({
    ...{ kind, at: kind === 'deleter' ? 'M' : 'H', isDead: false, waitFor: [], result: null },
  })),
});

const nameOf = ({ actors, ...rest }: State): string =>
  [...Object.values(rest), ...actors.flatMap((actor) => Object.values(actor))].map(String).join('|');

/** All reachable states. */
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

/** Lets the marks and holds of the dead expire, then runs one more actor alone. @returns its possible results */
function afterwards(state: State, kind: Actor['kind'], bug?: Bug): Actor['result'][] {
  const expired = {
    ...state,
    holders: bug === 'hold without expiry' ? state.holders : [],
    markExpired: state.mark !== null && bug !== 'mark without expiry',
    actors: [...state.actors, start([kind]).actors[0]!],
  };
  const index = expired.actors.length - 1;
  const results = new Set<Actor['result']>();
  const open = [expired];
  for (let current = open.pop(); current; current = open.pop()) {
    const next = [...step(current, index, bug)];
    if (next.length === 0) results.add(current.actors[index]!.result);
    open.push(...next);
  }
  return [...results];
}

const ACTORS: Actor['kind'][] = ['creator', 'creator', 'mover', 'deleter'];

describe('the hold protocol', () => {
  const states = explore(start(ACTORS));

  it('leaves no child without its parent, whichever actors die or are slow', {
    timeout: 120_000,
  }, () => {
    expect(states.length).toBeGreaterThan(10_000);
    expect(states.filter(hasOrphan)).toEqual([]);
    expect(explore(start(['mover', 'deleter', 'deleter'])).filter(hasOrphan)).toEqual([]);
  });

  it('reaches every outcome', () => {
    const outcomes = new Set(
      states.filter(({ actors }) => actors.every(({ at }) => at === 'end')).map(({ parent }) => parent),
    );
    expect([...outcomes].sort()).toEqual([false, true]);
    const results = new Set(states.flatMap(({ actors }) => actors.map(({ result }) => result)));
    expect([...results].sort()).toEqual(['deleted', 'missing', 'refused', 'written', null].sort());
  });

  it('allows deletion and references again once the marks and holds of the dead have expired', {
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

  // These show that the search finds bugs.
  it.each<Bug>(['no V', 'R before I', 'C before wait', 'no hold', 'D without a deadline'])(
    'leaves a child without its parent with the bug "%s"',
    (bug) => {
      expect(explore(start(['creator', 'deleter', 'deleter']), bug).some(hasOrphan)).toBe(true);
    },
  );

  it.each<[Bug, Actor['kind'], Actor['result']]>([
    ['mark without expiry', 'creator', 'written'],
    ['hold without expiry', 'deleter', 'deleted'],
  ])('is blocked by dead actors with the bug "%s"', (bug, kind, expected) => {
    const states = explore(start(['creator', 'deleter']), bug);
    const stuck = states.filter(
      (state) =>
        state.parent &&
        state.children === 0 &&
        state.actors.every(({ isDead, at }) => isDead || at === 'end') &&
        !afterwards(state, kind, bug).includes(expected),
    );
    expect(stuck.length).toBeGreaterThan(0);
  });
});

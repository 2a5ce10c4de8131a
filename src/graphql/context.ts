import type { Principal } from '../access/api-keys.ts';
import type { RateLimitView, Session } from '../access/session.ts';
import type { EventRequest, StoredEvent } from '../store/events.ts';
import type { Store } from '../store/store.ts';
import { Loaders } from './loaders.ts';

/** Throws PRECONDITION_FAILED unless the REST representation of `record`, of this GraphQL type, is the one that If-Match names. */
export type Precondition = (type: string, record: object) => void;

/** The idempotency of one request (docs/interface.md, "Safe retries and caching"). */
export interface Idempotency {
  /** The key of the next write: the header's own for the first, derived from it for the others. */
  nextKey(): string;
  /** Told when an outcome is one of an earlier call. */
  onReplay(): void;
}

/** What resolvers know of a call: who makes it and the store. Nothing of HTTP. */
export interface Context {
  principal: Principal;
  store: Store;
  /** Replaced after each write, so that what is read next is read anew. */
  loaders: Loaders;
  now: () => number;
  /** As the request's own charge left it. */
  rateLimit: () => RateLimitView;
  precondition?: Precondition | undefined;
  idempotency?: Idempotency | undefined;
  /** Opens the stream that a subscription reads; there where one is answered. */
  followEvents?:
    | ((selection: Omit<EventRequest, 'limit'>) => Promise<AsyncIterable<StoredEvent>>)
    | undefined;
}

/** Units that are run without letting others in between. */
const MAX_UNINTERRUPTED_COST = 20;

/**
 * The context of one operation of a session.
 *
 * @param call `cost`: its cost in units; `isGone`: whether the client went away
 */
export const newContext = (
  session: Session,
  call: { cost: number; isDisconnected?: () => boolean } & Pick<Context, 'precondition' | 'idempotency'>,
): Context => ({
  principal: session.principal,
  store: session.store,
  loaders: call.isDisconnected
    ? new Loaders(session.store, {
        isDisconnected: call.isDisconnected,
        yieldsBetweenLevels: call.cost > MAX_UNINTERRUPTED_COST,
      })
    : new Loaders(session.store),
  now: session.now,
  rateLimit: () => session.budget(call.cost),
  precondition: call.precondition,
  idempotency: call.idempotency,
});

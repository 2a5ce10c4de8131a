import type { Principal } from '../access/api-keys.ts';
import type { RequestLog } from '../access/request-log.ts';
import type { RateLimitView, Session } from '../access/session.ts';
import type { UsageHistory } from '../access/usage-history.ts';
import { Meter } from '../foundation/meter.ts';
import type { EventRequest, StoredEvent } from '../store/events.ts';
import type { Store } from '../store/store.ts';
import { type ReadLimits, Loaders } from './loaders.ts';

/** Checks the stored record within its write. @param type its GraphQL type @throws PRECONDITION_FAILED, VALIDATION_FAILED */
export type Precondition = (type: string, record: object) => void;

/** The idempotency of one operation (docs/interface.md, "Safe retries and caching"). */
export interface Idempotency {
  /** The header's key for the first operation of a batch; derived from it for the rest. */
  key: string;
  /** Set when an outcome is replayed: the record is as it was written, its subfields as they are now. */
  request: { replayed: boolean };
}

/** The context of a call for resolvers: the caller and the store, but no HTTP. */
export interface Context {
  principal: Principal;
  store: Store;
  /** Mutations must not load records before their writes are committed. */
  readonly loaders: Loaders;
  /** The allowances that the call has paid for. Code that does metered work draws on it. */
  meter: Meter;
  now: () => number;
  /** The id of the request in the log. */
  requestId?: string | undefined;
  /** The usage of keys so far. */
  history: UsageHistory;
  /** The latest requests of keys. */
  requestLog: RequestLog;
  /** The budget after this request's charge. */
  rateLimit: () => RateLimitView;
  precondition?: Precondition | undefined;
  idempotency?: Idempotency | undefined;
  /** Opens the event stream of a subscription. Set only for subscriptions. */
  followEvents?:
    ((selection: Omit<EventRequest, 'limit'>) => Promise<AsyncIterable<StoredEvent>>) | undefined;
}

/** Operations up to this price run without yielding to other requests. */
const MAX_UNINTERRUPTED_PRICE = 10;

/**
 * Creates the context of one operation.
 *
 * @param call `price`: in units; `charged`: the units charged for the request, if it has no other operation;
 * `meter`: shared with other operations that are paid together; `client`: the response, which is destroyed once the
 * client has disconnected
 */
export const newContext = (
  session: Session,
  call: { price: number; charged?: number; meter?: Meter | undefined } & Pick<ReadLimits, 'client'> &
    Pick<Context, 'requestId' | 'precondition' | 'idempotency'>,
): Context => {
  const { meter = new Meter(call.price) } = call;
  return {
    meter,
    principal: session.principal,
    store: session.store,
    loaders: new Loaders(session.store, {
      client: call.client,
      yieldsBetweenLevels: call.price > MAX_UNINTERRUPTED_PRICE,
      meter,
    }),
    now: session.now,
    requestId: call.requestId,
    history: session.counters.history,
    requestLog: session.counters.requestLog,
    rateLimit: () => session.budget(call.charged ?? call.price),
    precondition: call.precondition,
    idempotency: call.idempotency,
  };
};

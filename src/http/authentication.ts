import type { Access } from '../access/access.ts';
import type { ExpectedPrice, Session, UsageSubject } from '../access/session.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { Store } from '../store/store.ts';
import type { RequestContext } from './request-context.ts';

/** Gives each request that is traced its own view of a store. */
interface StoreTracing {
  traced(context: RequestContext, store: Store): Store;
}

/** Admits requests by their API key. Every transport that serves data begins with it. */
export class Authentication {
  readonly #access: Access;
  readonly #store: Store;
  readonly #tracing: StoreTracing | undefined;

  constructor(access: Access, store: Store, tracing?: StoreTracing) {
    this.#access = access;
    this.#store = store;
    this.#tracing = tracing;
  }

  /**
   * Opens the session of a request, unless its outcome is already known.
   *
   * @param subject what it is counted as if it is refused at once
   * @throws UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admit(context: RequestContext, expected: ExpectedPrice, subject: () => UsageSubject): MaybePromise<void> {
    const { apiKey, address } = context;
    const fail = (error: unknown): never => {
      context.guardWindow = this.#access.addressWindow(address);
      throw error;
    };
    const begin = (session: Session | null): MaybePromise<void> => {
      if (!session?.isAllowed)
        return andThen(this.#access.rejection(context, session !== null, this.#store), fail);
      context.session = session;
      session.subject = subject;
      return session.begin(expected);
    };
    const store = this.#tracing ? this.#tracing.traced(context, this.#store) : this.#store;
    let session: MaybePromise<Session | null>;
    try {
      session = this.#access.authenticate(apiKey, store, address);
    } catch (error) {
      return fail(error);
    }
    return session instanceof Promise ? session.then(begin, fail) : begin(session);
  }
}

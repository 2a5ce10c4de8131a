import type { Access } from '../access/access.ts';
import { apiKeyFrom } from '../access/api-keys.ts';
import type { ExpectedCost } from '../access/session.ts';
import { andThen, attempt, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { Store } from '../store/store.ts';
import { clientAddress } from './client-address.ts';
import type { RequestContext } from './request-context.ts';

/** Admits requests by their API key. Every transport that serves data begins with it. */
export class Authentication {
  readonly #access: Access;
  readonly #storeFor: (context: RequestContext) => Store;
  readonly #proxies: number;

  /**
   * @param storeFor the store for the request, traced if the request is
   * @param proxies number of trusted proxies
   */
  constructor(access: Access, storeFor: (context: RequestContext) => Store, proxies: number) {
    this.#access = access;
    this.#storeFor = storeFor;
    this.#proxies = proxies;
  }

  /**
   * Opens the session of a request, unless its outcome is already known.
   *
   * @throws UNAUTHENTICATED, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admit(context: RequestContext, expectedCost: ExpectedCost): MaybePromise<void> {
    const found = attempt(
      () =>
        this.#access.authenticate(
          apiKeyFrom(context.headers),
          this.#storeFor(context),
          this.#addressOf(context),
        ),
      (error) => {
        context.guardWindow = this.#access.addressWindow(this.#addressOf(context));
        throw error;
      },
    );
    return andThen(found, (session) => {
      if (!session) throw this.#unauthenticated(context);
      context.session = session;
      return session.begin(expectedCost);
    });
  }

  #unauthenticated(context: RequestContext): Error {
    const address = this.#addressOf(context);
    const error = this.#access.unauthenticatedError(address);
    context.guardWindow = this.#access.addressWindow(address);
    return error;
  }

  #addressOf({ request }: RequestContext): string {
    return clientAddress(request, this.#proxies);
  }
}

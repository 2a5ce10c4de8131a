import type { Access } from '../access/access.ts';
import { apiKeyFrom } from '../access/api-keys.ts';
import type { ExpectedCost, UsageSubject } from '../access/session.ts';
import type { AppError } from '../foundation/errors.ts';
import { andThen, attempt, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { Store } from '../store/store.ts';
import { clientAddress, type RequestContext } from './request-context.ts';

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
   * @param subject what it is counted as if it is refused at once
   *
   * @throws UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admit(
    context: RequestContext,
    expectedCost: ExpectedCost,
    subject: () => UsageSubject,
  ): MaybePromise<void> {
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
      if (!session) throw this.#refused(context, (address) => this.#access.unauthenticatedError(address));
      if (!session.isAllowed)
        throw this.#refused(context, (address) => this.#access.foreignAddressError(address));
      context.session = session;
      session.attribute(subject);
      return session.begin(expectedCost);
    });
  }

  /** The error for a caller without a session, whose address it counts for. */
  #refused(context: RequestContext, errorFor: (address: string) => AppError): AppError {
    const address = this.#addressOf(context);
    const error = errorFor(address);
    context.guardWindow = this.#access.addressWindow(address);
    return error;
  }

  #addressOf({ request }: RequestContext): string {
    return clientAddress(request, this.#proxies);
  }
}

import { asAppError, ReportedError, validationFailed } from '../foundation/errors.ts';
import { andThen, attempt, type MaybePromise } from '../foundation/maybe-promise.ts';
import { LONG_LIST_RULE } from './list-headers.ts';
import type { RequestContext } from './request-context.ts';
import type { HttpResponse } from './response.ts';
import type { Transport } from './transport.ts';

/**
 * Answers a request over its transport. Never fails: errors become responses.
 *
 * @param report receives errors that clients must not see
 */
export const respond = (
  transport: Transport,
  context: RequestContext,
  report: (error: unknown, requestId: string) => void,
): MaybePromise<HttpResponse> =>
  attempt(
    () =>
      andThen(transport.admit(context), () =>
        attempt(
          () => {
            if (context.longList !== undefined)
              throw validationFailed([{ path: context.longList, message: LONG_LIST_RULE }]);
            return transport.handle(context);
          },
          (error) => chargeFailure(context, error),
        ),
      ),
    (error) => {
      const known = asAppError(error);
      if (known.status >= 500 && !(error instanceof ReportedError)) report(error, context.requestId);
      context.addError(known.code);
      return transport.errorResponse(known, context);
    },
  );

/**
 * A request that fails before its cost is known is charged too. If the budget is exhausted, that error takes
 * precedence.
 */
function chargeFailure({ session }: RequestContext, error: unknown): MaybePromise<never> {
  if (!session) throw error;
  return andThen(session.fail(), () => {
    throw error;
  });
}

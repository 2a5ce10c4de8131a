import type { Session } from '../../access/session.ts';
import { andThen, attempt, type MaybePromise } from '../../foundation/maybe-promise.ts';
import { idempotencyFor } from '../../http/idempotency.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { formatBudget } from '../../kit/budget.ts';
import { newContext } from '../../kit/context.ts';
import type { PublicResult } from '../../operations/execute.ts';
import type { PreparedEntry } from '../../operations/prepared-request.ts';
import { OperationRefused } from '../../operations/refusal.ts';
import { noteErrors } from './response.ts';

/** Runs the nth operation of a request, or returns the errors that prevent it. */
export async function run(
  context: RequestContext,
  session: Session,
  operation: PreparedEntry,
  index: number,
): Promise<PublicResult> {
  const result = await resultOf(context, session, operation, index);
  if (result.errors) noteErrors(context, result.errors);
  return result;
}

function resultOf(
  context: RequestContext,
  session: Session,
  operation: PreparedEntry,
  index: number,
): MaybePromise<PublicResult> {
  if (operation instanceof OperationRefused) return extended(context, session, refusal(operation));
  const call = newContext(session, {
    cost: operation.cost,
    requestId: context.requestId,
    client: context.response,
    idempotency:
      context.headers['idempotency-key'] === undefined ? undefined : idempotencyFor(context, index),
  });
  return attempt(
    () =>
      andThen(operation.execute(call), ({ errors, data = null }) =>
        extended(context, session, errors ? { errors, data } : { data }),
      ),
    (error) => {
      if (error instanceof OperationRefused) return extended(context, session, refusal(error));
      throw error;
    },
  );
}

/** 200 once the operation ran. Errors before that are all 400. */
export const statusOf = (result: PublicResult): number => ('data' in result ? 200 : 400);

const refusal = ({ errors }: OperationRefused): PublicResult => ({ errors: [...errors] });

/** Adds the cost of the request and the remaining budget, if the client asked for them. */
function extended(context: RequestContext, session: Session, result: PublicResult): PublicResult {
  if (context.headers['x-ratelimit-extension'] === 'on')
    result.extensions = { rateLimit: formatBudget(session.budget(session.units)) };
  return result;
}

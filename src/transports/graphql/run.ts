import type { Session } from '../../access/session.ts';
import type { AdmissionResult } from '../../execution/admission.ts';
import type { PublicResult } from '../../execution/execute.ts';
import { OperationRefused } from '../../execution/refusal.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { formatBudget } from '../../schema/budget.ts';
import { newContext } from '../../schema/context.ts';
import { idempotencyFor } from '../idempotency.ts';
import { noteErrors } from './observed.ts';

/** Runs the nth operation of a request, or returns the errors that prevent it. */
export async function run(
  context: RequestContext,
  session: Session,
  operation: AdmissionResult,
  index: number,
): Promise<PublicResult> {
  const result = await resultOf(context, session, operation, index);
  if (result.errors) noteErrors(context, result.errors);
  return result;
}

async function resultOf(
  context: RequestContext,
  session: Session,
  operation: AdmissionResult,
  index: number,
): Promise<PublicResult> {
  const extensions = extensionsOf(context, session);
  const more = extensions && { extensions };
  if (operation instanceof OperationRefused) return { errors: [...operation.errors], ...more };
  const call = newContext(session, {
    cost: operation.cost,
    requestId: context.requestId,
    isDisconnected: () => context.response.destroyed,
    idempotency: idempotencyFor(context, index),
  });
  try {
    const { errors, data } = await operation.execute(call);
    return errors ? { errors, data: data ?? null, ...more } : { data: data ?? null, ...more };
  } catch (error) {
    if (error instanceof OperationRefused) return { errors: [...error.errors], ...more };
    throw error;
  }
}

/** 200 once the operation ran. Errors before that are all 400. */
export const statusOf = (result: PublicResult): number => ('data' in result ? 200 : 400);

/** The cost of the request and the remaining budget, if the client asked for them. */
function extensionsOf(context: RequestContext, session: Session): Record<string, unknown> | undefined {
  if (context.headers['x-ratelimit-extension'] !== 'on') return undefined;
  return { rateLimit: formatBudget(session.budget(session.units)) };
}

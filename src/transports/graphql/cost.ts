import type { Session } from '../../access/session.ts';
import { AppError } from '../../foundation/errors.ts';
import { ALLOWANCES } from '../../foundation/meter.ts';
import { declaredLength } from '../../http/body.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import { formatBudget } from '../../kit/budget.ts';
import { type AdmissionServices, admitPaying } from '../../operations/admission.ts';
import { OperationRefused } from '../../operations/refusal.ts';
import { readParameters } from './request.ts';
import { contentTypeFor, describe, noteErrors, RESPONSES } from './response.ts';

const METHODS = 'POST, OPTIONS';

/**
 * Returns the cost of a GraphQL request and what is left of the budget. Runs nothing and is free, even on
 * errors, within the size of free requests; a larger one costs a unit.
 */
export async function handleCost(
  context: RequestContext,
  session: Session,
  services: AdmissionServices,
): Promise<HttpResponse> {
  const { method } = context;
  const length = declaredLength(context.request);
  await session.admitFree(Math.min(length, ALLOWANCES.bytesRead.free));
  if (length > ALLOWANCES.bytesRead.free) await session.pay();
  if (method === 'OPTIONS') return { status: 204, headers: ['Allow', METHODS] };
  if (method !== 'POST') throw new MethodNotAllowed(method, context.path, METHODS);
  const type = RESPONSES.choose(context.accept);
  if (type === undefined)
    throw new AppError('NOT_ACCEPTABLE', 'The cost is available as application/json only.');
  const request = await readParameters(context);
  if (Array.isArray(request.parameters))
    throw new AppError('BAD_REQUEST', 'The cost is available for one operation at a time, not for a batch.');
  const admission = await admitPaying(session, services, request, true);
  describe(context, admission);
  const { cost, operations } = admission;
  const [operation] = operations;
  if (operation instanceof OperationRefused) {
    noteErrors(context, operation.errors);
    const body = JSON.stringify({ errors: operation.errors });
    return { status: 400, headers: [], body, contentType: contentTypeFor(type) };
  }
  return { status: 200, headers: [], body: JSON.stringify(formatBudget(session.budget(cost))) };
}

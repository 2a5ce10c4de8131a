import type { Session } from '../../access/session.ts';
import { type AdmissionServices, admit } from '../../execution/admission.ts';
import { OperationRefused } from '../../execution/refusal.ts';
import { AppError } from '../../foundation/errors.ts';
import { accepts } from '../../http/media-type.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import { formatBudget } from '../../schema/budget.ts';
import { readParameters } from './request.ts';
import { contentTypeFor, RESPONSE_TYPES } from './response.ts';

export const COST_PATH = '/graphql/cost';
const METHODS = 'POST, OPTIONS';

/**
 * Returns the cost of a GraphQL request and what is left of the budget. Runs nothing and is free, even on
 * errors.
 */
export async function handleCost(
  context: RequestContext,
  session: Session,
  services: AdmissionServices,
): Promise<HttpResponse> {
  const { headers, method } = context;
  await session.admitFree();
  if (method === 'OPTIONS') return { status: 204, headers: ['Allow', METHODS] };
  if (method !== 'POST') throw new MethodNotAllowed(method, context.path, METHODS);
  if (!accepts(headers.accept, RESPONSE_TYPES))
    throw new AppError('NOT_ACCEPTABLE', 'The cost is available as application/json only.');
  const { batch, cost, operations, name } = admit(
    services,
    await readParameters(context),
    true,
    session.principal,
  );
  context.operationName = name;
  const [operation] = operations;
  if (!batch && operation instanceof OperationRefused) {
    const body = JSON.stringify({ errors: operation.errors });
    return { status: 400, headers: [], body, contentType: contentTypeFor(headers.accept) };
  }
  return { status: 200, headers: [], body: JSON.stringify(formatBudget(session.budget(cost))) };
}

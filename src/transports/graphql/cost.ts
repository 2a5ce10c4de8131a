import type { Session } from '../../access/session.ts';
import { formatBudget } from '../../domains/rate-limit.type.ts';
import { AppError } from '../../foundation/errors.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import { type DocumentServices, prepareRequest } from '../../graphql/prepared-request.ts';
import { OperationRefused } from '../../graphql/result.ts';
import { contentTypeFor, describe, noteErrors, RESPONSES, readParameters } from './over-http.ts';

const METHODS = 'POST, OPTIONS';

/**
 * Responds with the cost of a GraphQL request and the remaining budget. Runs nothing and is free, even on errors,
 * except for bodies of more than 10 kB.
 */
export async function handleCost(
  context: RequestContext,
  session: Session,
  services: DocumentServices,
): Promise<HttpResponse> {
  const { method } = context;
  await session.requireFree();
  if (method === 'OPTIONS') return { status: 204, headers: ['Allow', METHODS] };
  if (method !== 'POST') throw new MethodNotAllowed(method, context.path, METHODS);
  const type = RESPONSES.require(context.accept);
  const parameters = await readParameters(context);
  if (Array.isArray(parameters))
    throw new AppError('BAD_REQUEST', 'The cost is available for one operation at a time, not for a batch.');
  const prepared = await prepareRequest(session, services, parameters, true);
  describe(context, prepared);
  const [operation] = prepared.operations;
  const cost = session.costOf(prepared.price);
  await session.charge(0);
  if (operation instanceof OperationRefused) {
    noteErrors(context, operation.errors);
    const body = JSON.stringify({ errors: operation.errors });
    return { status: 400, headers: [], body, contentType: contentTypeFor(type) };
  }
  return { status: 200, headers: [], body: JSON.stringify(formatBudget(session.budget(cost))) };
}

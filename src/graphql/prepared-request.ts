import type { Principal } from '../access/api-keys.ts';
import { requireScopes } from '../access/scopes.ts';
import { FAILURE_PRICE, type Session, type UsageSubject } from '../access/session.ts';
import { OTHER } from '../access/usage-history.ts';
import { AppError } from '../foundation/errors.ts';
import { MAX_PRICE } from '../foundation/meter.ts';
import { ownTurn } from '../foundation/turns.ts';
import { isObject } from '../schema/json-text.ts';
import type { NamedDocuments } from './named-documents.ts';
import type { OperationRequest, Operations, PreparedOperation } from './operations.ts';
import { OperationRefused, publicError } from './result.ts';

/** The name of the root field for requests with different ones. */
const SEVERAL = 'several';

/** The maximum number of operations per batch. */
const MAX_BATCH_SIZE = 10;
/** The maximum length of an operation name, which messages and logs repeat. */
const MAX_NAME_LENGTH = 100;
/** The maximum size of a free document, in bytes. */
const MAX_FREE_BYTES = 1_000;

/** An operation of a request: either ready to run, or refused with errors. */
export type PreparedEntry = PreparedOperation | OperationRefused;

/** A GraphQL request with its price, before any of it runs. */
export interface PreparedRequest {
  operations: readonly PreparedEntry[];
  /** The units for the whole request; 0 if free. */
  price: number;
  /** The root fields of all operations, with the units of each. */
  rootFieldPrices: UsageSubject['rootFields'];
  /** The number of root fields that write, in the whole request. */
  mutations: number;
  batch: boolean;
  /** The operation names, for the log. */
  name: string | undefined;
  /** The root field; `several` for different ones, `other` for none. */
  rootField: string;
}

export interface DocumentServices {
  operations: Operations;
  documents: NamedDocuments;
}

/**
 * Parses and validates a request and computes its price.
 *
 * @param session the caller's session, which must permit the scopes of the request
 * @param parameters the parameters of an operation or a batch, as received
 * @param mayMutate true if mutations and subscriptions are allowed; false over GET
 * @throws PAYLOAD_TOO_LARGE if the batch is too long, BAD_REQUEST if the parameters are malformed, FORBIDDEN,
 * PERSISTED_QUERY_NOT_FOUND, QUERY_TOO_COMPLEX if operations cost too much together
 */
export async function prepareRequest(
  session: Session,
  { operations, documents }: DocumentServices,
  parameters: unknown,
  mayMutate: boolean,
): Promise<PreparedRequest> {
  const batch = Array.isArray(parameters);
  const requests: unknown[] = batch ? parameters : [parameters];
  if (requests.length > MAX_BATCH_SIZE) {
    const message = `A batch may have ${MAX_BATCH_SIZE} operations, not ${requests.length}.`;
    throw new AppError('PAYLOAD_TOO_LARGE', message);
  }
  if (requests.length === 0) throw new AppError('BAD_REQUEST', 'The batch is empty.');
  const { principal } = session;
  const prepared: PreparedEntry[] = [];
  for (const each of requests) {
    if (prepared.length > 0) await ownTurn();
    try {
      const operation = operations.prepare(await operationRequest(principal, documents, each));
      if (!mayMutate && operation.operation.operation !== 'query')
        throw new AppError('METHOD_NOT_ALLOWED', 'Mutations and subscriptions must be sent with POST.');
      if (principal.scopes) requireScopes(principal, operation.scopes());
      prepared.push(operation);
    } catch (error) {
      if (error instanceof OperationRefused) prepared.push(error);
      // A batch goes on without an entry whose document is unknown or not permitted.
      else if (batch && error instanceof AppError && (error.status === 403 || error.status === 404))
        prepared.push(new OperationRefused([publicError(error)]));
      else {
        // Free: clients cannot know which persisted queries are unknown, but they know the documents of a list.
        const isPersisted = (each as { documentId?: unknown } | null)?.documentId == null;
        if (isPersisted && error instanceof AppError && error.code === 'PERSISTED_QUERY_NOT_FOUND')
          await session.chargeFree();
        throw error;
      }
    }
  }
  return priced(prepared, batch);
}

/** @throws QUERY_TOO_COMPLEX if operations cost too much together */
function priced(operations: readonly PreparedEntry[], batch: boolean): PreparedRequest {
  let cost = 0;
  let mutations = 0;
  let bytes = 0;
  const names: string[] = [];
  let rootField: string | undefined;
  const charges: { name: string; units: number }[] = [];
  for (const operation of operations) {
    if (operation instanceof OperationRefused) {
      cost += FAILURE_PRICE;
      charges.push({ name: OTHER, units: FAILURE_PRICE });
      continue;
    }
    cost += operation.price;
    charges.push(...operation.rootFieldPrices);
    mutations += operation.mutations;
    if (operation.price === 0) bytes += Buffer.byteLength(operation.text);
    for (const field of operation.rootFields)
      rootField = rootField === undefined || rootField === field ? field : SEVERAL;
    if (operation.operation.name) names.push(operation.operation.name.value);
  }
  if (cost > MAX_PRICE) {
    const what = `The batch costs ${cost} units together; the maximum is ${MAX_PRICE}.`;
    throw new AppError('QUERY_TOO_COMPLEX', what);
  }
  // Free fields are counted only if there are no others.
  const paid = charges.filter(({ units }) => units > 0);
  return {
    operations,
    price: cost === 0 && (batch || bytes > MAX_FREE_BYTES) ? 1 : cost,
    rootFieldPrices: paid.length > 0 ? paid : charges,
    mutations,
    batch,
    name: names.length > 0 ? names.join(',') : undefined,
    rootField: rootField ?? OTHER,
  };
}

/**
 * Validates the GraphQL-over-HTTP parameters, and ignores unknown ones.
 *
 * @throws BAD_REQUEST that names the malformed one, and like `NamedDocuments.textOf`
 */
async function operationRequest(
  principal: Principal,
  documents: NamedDocuments,
  parameters: unknown,
): Promise<OperationRequest> {
  if (!isObject(parameters)) throw malformed('must be a JSON object');
  const { query, documentId, operationName, variables, extensions } = parameters;
  if (operationName != null && typeof operationName !== 'string')
    throw malformed('has an operationName that is not a string');
  if (operationName != null && operationName.length > MAX_NAME_LENGTH)
    throw malformed(`has an operationName of more than ${MAX_NAME_LENGTH} characters`);
  if (!isOptionalObject(variables)) throw malformed('has variables that are not an object');
  if (!isOptionalObject(extensions)) throw malformed('has extensions that are not an object');
  const { persistedQuery } = (extensions ?? {}) as Record<string, unknown>;
  const isPlain = principal.documents === undefined && documentId == null && persistedQuery == null;
  const text = isPlain ? query : await documents.textOf(principal, { query, documentId, persistedQuery });
  if (typeof text !== 'string') throw malformed('must have a query that is a string');
  // Clients without an operation name send an empty one.
  return { query: text, operationName: operationName || undefined, variables } as OperationRequest;
}

const isOptionalObject = (value: unknown): boolean => value == null || isObject(value);

const malformed = (what: string) => new AppError('BAD_REQUEST', `A GraphQL request ${what}.`);

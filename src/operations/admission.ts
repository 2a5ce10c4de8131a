import { type Permissions, requireScopes } from '../access/scopes.ts';
import { FAILURE_COST, type Session, type UsageSubject } from '../access/session.ts';
import { OTHER } from '../access/usage-history.ts';
import { AppError } from '../foundation/errors.ts';
import { andThen, attempt, type MaybePromise } from '../foundation/maybe-promise.ts';
import { ALLOWANCES, AllowanceExhausted, Meter } from '../foundation/meter.ts';
import { MAX_COST } from '../foundation/pricing.ts';
import { mapInTurns } from '../foundation/turns.ts';
import { MAX_NAME_LENGTH } from './complexity.ts';
import type { OperationRequest, Operations, PreparedOperation } from './operations.ts';
import type { PersistedQueries } from './persisted-queries.ts';
import { OperationRefused, publicError } from './refusal.ts';
import type { TrustedDocuments } from './trusted-documents.ts';

/** The root field of a request with different ones. */
const SEVERAL = 'several';

/** Maximum operations per batch. */
const MAX_BATCH_SIZE = 10;

/**
 * How many tokens a request without cost may have and still be free: those of a small document plus 4 for
 * each selected field (`a: minute { b: limit }` has two), within its allowance.
 */
const FREE_TOKENS = { base: 150, perField: 4 };
/** What a further document of a batch takes besides its tokens, in tokens: a new one is validated on its own. */
const TOKENS_PER_DOCUMENT = 100;

/** One operation of a request: either ready to run, or refused with these errors. */
export type AdmissionResult = PreparedOperation | OperationRefused;

/** A GraphQL request as received. */
export interface GraphQLRequest {
  /** The parsed parameters of one operation or a batch. */
  parameters: unknown;
  /** The size of their text. */
  bytes: number;
}

/** Everything a GraphQL request asks for, with its cost, before any of it runs. */
export interface Admission {
  operations: AdmissionResult[];
  /** Units for the whole request. */
  cost: number;
  /** Whether the request is larger than a free one may be. */
  isLarge: boolean;
  /** The root fields of all operations with the units of each. */
  charges: UsageSubject['operations'];
  /** Number of writing fields in the whole request. */
  mutations: number;
  /** How many different documents it has that are free; 1 unless it is a batch. */
  documents: number;
  batch: boolean;
  /** The parameters of each operation, without unknown ones. */
  requests: OperationRequest[];
  /** The operation names, for the log. */
  name: string | undefined;
  /** The root field; `several` if they differ, `other` if there is none. */
  rootField: string;
}

export interface AdmissionServices {
  operations: Operations;
  persisted: PersistedQueries;
  trusted: TrustedDocuments;
}

/**
 * Parses and validates a request and computes its cost. A request that has not paid yet (`Session.hasPaid`) is
 * read within the limits of free requests, and pays before the rest is read.
 *
 * @param mayMutate whether mutations are allowed, which they are not over GET
 * @throws PAYLOAD_TOO_LARGE if the batch is too long, BAD_REQUEST if the parameters are malformed, FORBIDDEN,
 * and what `Session.pay` throws
 */
export function admitPaying(
  session: Session,
  services: AdmissionServices,
  received: GraphQLRequest,
  mayMutate: boolean,
): MaybePromise<Admission> {
  const { principal } = session;
  const { parameters, bytes } = received;
  const isTooLong = Array.isArray(parameters) && parameters.length > MAX_BATCH_SIZE;
  const resolved =
    isTooLong || !services.trusted.isNeeded(principal, parameters)
      ? parameters
      : services.trusted.resolve(session, parameters, services.persisted);
  return andThen(resolved, (texts) => {
    const request = { parameters: texts, bytes };
    if (!session.hasPaid) return admitUnpaid(session, services, request, mayMutate);
    return attempt(
      () => admit(services, request, mayMutate, principal),
      (error) => missed(error, session, received),
    );
  });
}

/** A client cannot know that a persisted query is unknown, so within the free work of a second it costs nothing. */
async function missed(error: unknown, session: Session, { bytes }: GraphQLRequest): Promise<never> {
  if (isMiss(error)) await session.admit(bytes > ALLOWANCES.bytesRead.free ? FAILURE_COST : 0, 0, bytes);
  throw error;
}

const isMiss = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'PERSISTED_QUERY_NOT_FOUND';

async function admitUnpaid(
  session: Session,
  services: AdmissionServices,
  request: GraphQLRequest,
  mayMutate: boolean,
): Promise<Admission> {
  try {
    const admission = await admit(services, request, mayMutate, session.principal, new Meter(0));
    if (!admission.isLarge) return admission;
    await session.pay();
    return admission;
  } catch (error) {
    if (!(error instanceof AllowanceExhausted)) throw error;
    await session.pay();
    return await admit(services, request, mayMutate, session.principal);
  }
}

/**
 * Parses and validates a request and computes its cost.
 *
 * @param caller who must hold the scopes of the request
 * @param meter bounds what is read
 * @throws as `admitPaying`, AllowanceExhausted if there is more to read
 */
export function admit(
  { operations, persisted }: Omit<AdmissionServices, 'trusted'>,
  { parameters, bytes }: GraphQLRequest,
  mayMutate: boolean,
  caller: Permissions,
  meter = new Meter(MAX_BATCH_SIZE),
): MaybePromise<Admission> {
  meter.draw('bytesRead', bytes);
  const batch = Array.isArray(parameters);
  const requests: unknown[] = batch ? parameters : [parameters];
  if (requests.length > MAX_BATCH_SIZE) {
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `A batch may have ${MAX_BATCH_SIZE} operations, not ${requests.length}.`,
    );
  }
  if (requests.length === 0) throw new AppError('BAD_REQUEST', 'The batch is empty.');
  // Check all of them before preparing the first, so that a malformed one costs no more than one failure.
  const checked = requests.map((request) => {
    if (request instanceof AppError) return new OperationRefused([publicError(request)]);
    try {
      return toOperationRequest(request, persisted);
    } catch (error) {
      // The rest of the batch can still run.
      if (batch && isMiss(error)) return new OperationRefused([publicError(error)]);
      throw error;
    }
  });
  const admitted = mapInTurns(checked, (request) => {
    if (request instanceof OperationRefused) return request;
    try {
      const prepared = operations.prepare(request, meter);
      if (!mayMutate && prepared.operation.operation !== 'query')
        throw new AppError('METHOD_NOT_ALLOWED', 'Mutations and subscriptions must be sent with POST.');
      if (caller.scopes) requireScopes(caller, prepared.scopes());
      return prepared;
    } catch (error) {
      if (error instanceof OperationRefused) return error;
      // In a batch, only the entry that lacks scopes is refused.
      if (batch && error instanceof AppError && error.code === 'FORBIDDEN')
        return new OperationRefused([publicError(error)]);
      throw error;
    }
  });
  return andThen(admitted, (results) => {
    const requests = checked.map((request) =>
      request instanceof OperationRefused ? { query: '' } : request,
    );
    return admissionOf(results, { requests, bytes, batch });
  });
}

/** @throws QUERY_TOO_COMPLEX if operations cost too much together */
function admissionOf(
  operations: AdmissionResult[],
  { requests, bytes, batch }: Pick<Admission, 'requests' | 'batch'> & { bytes: number },
): Admission {
  let cost = 0;
  const all = { tokens: 0, fields: 0 };
  const free = { tokens: 0, fields: 0 };
  let mutations = 0;
  const names: string[] = [];
  let rootField: string | undefined;
  const charges: { name: string; units: number }[] = [];
  for (const operation of operations) {
    if (operation instanceof OperationRefused) {
      cost += FAILURE_COST;
      charges.push({ name: OTHER, units: FAILURE_COST });
      continue;
    }
    cost += operation.cost;
    charges.push(...operation.charges);
    mutations += operation.mutations;
    all.tokens += operation.tokens;
    all.fields += operation.fields;
    if (operation.cost === 0) {
      free.tokens += operation.tokens;
      free.fields += operation.fields;
    }
    for (const field of operation.rootFields)
      rootField = rootField === undefined || rootField === field ? field : SEVERAL;
    if (operation.operation.name) names.push(operation.operation.name.value);
  }
  if (cost > MAX_COST) {
    const what = `The batch costs ${cost} units together; the maximum is ${MAX_COST}.`;
    throw new AppError('QUERY_TOO_COMPLEX', what);
  }
  const isLong = bytes > ALLOWANCES.bytesRead.free;
  const documents = batch ? freeDocuments(operations, requests) : 1;
  const isMuch = free.tokens + TOKENS_PER_DOCUMENT * (documents - 1) > ALLOWANCES.tokens.free;
  if (isLarge(free) || isMuch || (cost === 0 && isLong)) cost++;
  // One literal: a spread of half of it takes 4 µs.
  return {
    operations,
    requests,
    cost,
    charges,
    isLarge: isLarge(all) || isLong,
    mutations,
    documents,
    batch,
    name: names.length > 0 ? names.join(',') : undefined,
    rootField: rootField ?? OTHER,
  };
}

/** How many different documents of price 0 there are. */
const freeDocuments = (operations: readonly AdmissionResult[], requests: Admission['requests']): number =>
  new Set(
    requests.filter((_, n) => (operations[n] as PreparedOperation).cost === 0).map(({ query }) => query),
  ).size;

const isLarge = ({ tokens, fields }: { tokens: number; fields: number }): boolean =>
  tokens > Math.min(ALLOWANCES.tokens.free, FREE_TOKENS.base + FREE_TOKENS.perField * fields);

/**
 * Checks the GraphQL-over-HTTP parameters and ignores unknown ones.
 *
 * @throws BAD_REQUEST naming the malformed one
 */
function toOperationRequest(value: unknown, persisted: PersistedQueries): OperationRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('must be a JSON object');
  const { query, operationName, variables, extensions } = value as Record<string, unknown>;
  if (operationName != null && typeof operationName !== 'string')
    throw malformed('has an operationName that is not a string');
  if (operationName != null && operationName.length > MAX_NAME_LENGTH)
    throw malformed(`has an operationName of more than ${MAX_NAME_LENGTH} characters`);
  if (!isOptionalObject(variables)) throw malformed('has variables that are not an object');
  if (!isOptionalObject(extensions)) throw malformed('has extensions that are not an object');
  const text = persisted.textOf(query, extensions);
  if (typeof text !== 'string') throw malformed('must have a query that is a string');
  // Clients without an operation name send an empty one.
  return { query: text, operationName: operationName || undefined, variables } as OperationRequest;
}

const isOptionalObject = (value: unknown): boolean =>
  value == null || (typeof value === 'object' && !Array.isArray(value));

const malformed = (what: string) => new AppError('BAD_REQUEST', `A GraphQL request ${what}.`);

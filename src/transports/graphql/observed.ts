import type { GraphQLFormattedError } from 'graphql';
import type { Admission } from '../../execution/admission.ts';
import { OperationRefused } from '../../execution/refusal.ts';
import type { ErrorCode } from '../../foundation/errors.ts';
import type { RequestContext } from '../../http/request-context.ts';

/** Notes what a request asks for, for the log, metrics and traces. */
export function describe(context: RequestContext, { name, rootField, operations }: Admission): void {
  context.operation = rootField;
  context.operationName = name;
  const [first] = operations;
  if (first && !(first instanceof OperationRefused)) context.operationType = first.operation.operation;
}

/** Notes the errors of a response whose HTTP status may still be 200. */
export function noteErrors(context: RequestContext, errors: readonly GraphQLFormattedError[]): void {
  for (const { extensions } of errors) context.addError(extensions!.code as ErrorCode);
}

import { AppError, type ErrorCode } from './errors.ts';

export type ChangeKind = 'creation' | 'update' | 'deletion';

interface RefusalOptions<A extends unknown[]> {
  /** Completes "Refused while": `its pet is sold`. */
  while: string;
  /** The kinds of change that are refused; by default all. */
  of?: readonly ChangeKind[];
  /** By default a conflict. */
  code?: ErrorCode;
  message(...args: A): string;
}

/** A function that makes the error of a refusal, which the descriptions of operations mention. */
export interface Refusal<A extends unknown[] = never[]> {
  (...args: A): AppError;
  code: ErrorCode;
  of: readonly ChangeKind[];
  description: string;
}

/** Declares a refusal by hooks: `refusal({ while: 'its pet is sold', message: (id: Id) => `Pet ${id} is sold.` })`. */
export const refusal = <A extends unknown[]>({
  code = 'CONFLICT',
  of = ['creation', 'update', 'deletion'],
  message,
  ...options
}: RefusalOptions<A>): Refusal<A> =>
  Object.assign((...args: A) => new AppError(code, message(...args)), {
    code,
    of,
    description: `Refused while ${options.while}.`,
  });

import { AppError, type ErrorCode } from './errors.ts';

export type ChangeKind = 'creation' | 'update' | 'deletion';

interface RefusalOptions<A extends unknown[]> {
  /** Completes "Refused while": `its pet is sold`. */
  while: string;
  /** The kinds of change that are refused; defaults to all. */
  of?: readonly ChangeKind[];
  /** Defaults to CONFLICT. */
  code?: ErrorCode;
  message(...args: A): string;
}

/** A function that creates a refusal's error. Descriptions of operations list it. */
export interface Refusal<A extends unknown[] = never[]> {
  (...args: A): AppError;
  code: ErrorCode;
  of: readonly ChangeKind[];
  description: string;
}

/** Declares a refusal for hooks: `refusal({ while: 'its pet is sold', message: (id: Id) => `Pet ${id} is sold.` })`. */
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

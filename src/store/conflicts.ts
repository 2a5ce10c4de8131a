import { AppError } from '../foundation/errors.ts';
import type { Id } from '../foundation/id.ts';
import { MAX_GROUPS } from '../foundation/meter.ts';
import { type AnyDeclaration, type Fields, blockerName, type Referrer } from '../foundation/record.ts';
import { capitalised, indefinite, listed, grouped } from '../foundation/words.ts';

/** The error for a deletion that another record blocks. */
export const stillReferred = ({ kind }: AnyDeclaration, id: Id, referrer: Referrer) =>
  new AppError(
    'CONFLICT',
    `${capitalised(kind)} ${id} cannot be deleted because it still has ${blockerName(referrer)}.`,
  );

/** The error for a deletion while concurrent transactions create references to the record. */
export const beingReferred = ({ kind }: AnyDeclaration, id: Id) =>
  new AppError(
    'CONFLICT',
    `${capitalised(kind)} ${id} cannot be deleted while records are created that refer to it. Please try again.`,
  );

/** The error for a new record whose chosen id is in use. */
export const idTaken = ({ kind }: AnyDeclaration, id: Id) =>
  new AppError('CONFLICT', `${capitalised(kind)} id ${id} is taken.`);

/** The error for a write that breaks a unique combination. @param fields the fields of the combination */
export const notUnique = ({ kind }: AnyDeclaration, fields: readonly string[]) =>
  new AppError('CONFLICT', `There is already ${indefinite(kind)} with this ${listed(fields, 'and')}.`);

/** The error for a change that would take an integer out of its range. @param record the current record */
export const outOfRange = (
  { kind, fields }: AnyDeclaration,
  record: Readonly<Record<string, unknown>>,
  field: string,
  amount: number,
) =>
  new AppError(
    'CONFLICT',
    `The ${field} of ${kind} ${record.id} is ${record[field]} and cannot change by ${amount}: it is ${(fields as Fields)[field]!.limits}.`,
  );

export const idsExhausted = () => new AppError('CONFLICT', 'There are no ids left to assign.');

export const tooManyGroups = () =>
  new AppError(
    'QUERY_TOO_COMPLEX',
    `There are more than ${grouped(MAX_GROUPS)} groups to count: use a narrower filter, or count by less.`,
  );

/** The error for a count that would examine too much. */
export const tooManyToCount = (cause?: unknown) =>
  new AppError(
    'QUERY_TOO_COMPLEX',
    'There are too many items to count: use a narrower filter with totalCount.',
    { cause },
  );

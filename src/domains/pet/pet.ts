import { AppError } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { type InputDialect, inputObject, name, oneOf } from '../../foundation/validation.ts';
import type { RecordEvents } from '../../store/events.ts';
import type { Check, Page, PageRequest } from '../../store/store.ts';

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/** An animal. Its stock is one of its fields, so an inventory entry cannot disagree with its pet. */
export interface Pet {
  id: Id;
  name: string;
  categoryId: Id;
  status: PetStatus;
  /** Stock count, 0..2147483647. */
  quantity: number;
}

export interface NewPet {
  name: string;
  categoryId: Id;
  status: PetStatus;
}

/**
 * Missing properties stay as they are. The event is `inventory.updated` if only the quantity changes,
 * otherwise `pet.updated`.
 */
export interface PetPatch {
  name?: string | undefined;
  categoryId?: Id | undefined;
  status?: PetStatus | undefined;
  quantity?: number | undefined;
}

export interface PetFilter {
  /** Matches any of these; an empty list matches nothing. */
  status?: readonly PetStatus[] | undefined;
  categoryId?: Id | undefined;
}

export const petStatus = () => oneOf(PET_STATUSES);

export const newPet = ({ id, optional }: InputDialect) =>
  inputObject({
    name: name(),
    categoryId: id,
    status: optional(petStatus()).transform((status) => status ?? 'available'),
  });

export const petPatch = ({ id }: InputDialect) =>
  inputObject({ name: name().optional(), categoryId: id.optional(), status: petStatus().optional() });

export const petOnOrder = (id: Id) =>
  new AppError('CONFLICT', `Pet ${id} cannot be deleted because an incomplete order refers to it.`);

interface PetReads {
  petsById(ids: readonly Id[]): MaybePromise<(Pet | null)[]>;
  peekPet?(id: Id): Pet | undefined;
  petPage(filter: PetFilter, page: PageRequest): MaybePromise<Page<Pet>>;
  petPagesByCategory(
    categoryIds: readonly Id[],
    filter: PetFilter,
    page: PageRequest,
  ): MaybePromise<Page<Pet>[]>;
  petCount(filter: PetFilter): MaybePromise<number>;
  petCountsByCategory(categoryIds: readonly Id[], filter: PetFilter): MaybePromise<number[]>;
}

interface PetWrites {
  /** @throws UNKNOWN_REFERENCE */
  createPet(input: NewPet): MaybePromise<Pet>;
  /** @throws NOT_FOUND, UNKNOWN_REFERENCE, and whatever `check` throws */
  updatePet(id: Id, patch: PetPatch, check?: Check<Pet>): MaybePromise<Pet>;
  /** @throws NOT_FOUND, CONFLICT while an incomplete order refers to the pet, and whatever `check` throws */
  deletePet(id: Id, check?: Check<Pet>): MaybePromise<Id>;
}

declare module '../../store/store.ts' {
  interface PetstoreReads extends PetReads {}
  interface PetstoreWrites extends PetWrites {}
}

declare module '../../store/events.ts' {
  interface EventTypes extends RecordEvents<'pet', Pet> {}
}

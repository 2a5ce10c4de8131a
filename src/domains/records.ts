/** The records of the API, as every engine keeps them and every transport serves them. */

/** An int64 id from 1 to 9223372036854775807 in canonical decimal digits: exact in JSON, in maps and in logs. */
export type Id = string;

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/** Stock is a field of the pet, so an inventory entry can't disagree with its pet. */
export interface Pet {
  id: Id;
  name: string;
  categoryId: Id;
  status: PetStatus;
  /** Stock count, 0..2147483647. */
  quantity: number;
}

export interface Category {
  id: Id;
  name: string;
  /** The property is missing where there is none. */
  description?: string;
}

export interface Order {
  id: Id;
  /** May name a pet that has been deleted since, once the order is complete. */
  petId?: Id;
  quantity?: number;
  /** RFC 3339 in UTC, `2026-01-31T09:30:00Z`, with milliseconds only if they are not zero. */
  shipDate?: string;
  complete: boolean;
}

export interface NewPet {
  name: string;
  categoryId: Id;
  status: PetStatus;
}
export interface NewCategory {
  name: string;
  description?: string;
}
export interface NewOrder {
  /** Chosen by the client, or assigned when missing. */
  id?: Id | undefined;
  petId?: Id | undefined;
  quantity?: number | undefined;
  shipDate?: string | undefined;
  complete: boolean;
}

/**
 * Changes: a missing property stays as it is, `null` removes the value. The event of a patch of a pet is `inventory.updated` if
 * nothing but the quantity changes, else `pet.updated`.
 */
export interface PetPatch {
  name?: string | undefined;
  categoryId?: Id | undefined;
  status?: PetStatus | undefined;
  quantity?: number | undefined;
}
export interface CategoryPatch {
  name?: string | undefined;
  description?: string | null | undefined;
}
export interface OrderPatch {
  petId?: Id | null | undefined;
  quantity?: number | null | undefined;
  shipDate?: string | null | undefined;
  complete?: boolean | undefined;
}

export interface PetFilter {
  /** Any of these; an empty list matches nothing. */
  status?: readonly PetStatus[] | undefined;
  categoryId?: Id | undefined;
}
export interface OrderFilter {
  petId?: Id | undefined;
  complete?: boolean | undefined;
}

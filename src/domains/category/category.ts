import { AppError } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { type InputDialect, inputObject, name, text } from '../../foundation/validation.ts';
import type { RecordEvents } from '../../store/events.ts';
import type { Check, Page, PageRequest } from '../../store/store.ts';

/** A kind of animal. */
export interface Category {
  id: Id;
  name: string;
  /** Absent if there is none. */
  description?: string;
}

export interface NewCategory {
  name: string;
  description?: string;
}

/** Missing properties stay as they are; `null` removes the value. */
export interface CategoryPatch {
  name?: string | undefined;
  description?: string | null | undefined;
}

/** In characters. */
export const MAX_DESCRIPTION_LENGTH = 2_000;

const description = () => text(0, MAX_DESCRIPTION_LENGTH);

export const newCategory = ({ optional }: InputDialect) =>
  inputObject({ name: name(), description: optional(description()) });

export const categoryPatch = () =>
  inputObject({ name: name().optional(), description: description().nullable().optional() });

export const categoryInUse = (id: Id) =>
  new AppError('CONFLICT', `Category ${id} cannot be deleted because it still has pets.`);

interface CategoryReads {
  categoriesById(ids: readonly Id[]): MaybePromise<(Category | null)[]>;
  peekCategory?(id: Id): Category | undefined;
  categoryPage(page: PageRequest): MaybePromise<Page<Category>>;
  categoryCount(): MaybePromise<number>;
}

interface CategoryWrites {
  createCategory(input: NewCategory): MaybePromise<Category>;
  /** @throws NOT_FOUND, and whatever `check` throws */
  updateCategory(id: Id, patch: CategoryPatch, check?: Check<Category>): MaybePromise<Category>;
  /** @throws NOT_FOUND, CONFLICT while the category has pets, and whatever `check` throws */
  deleteCategory(id: Id, check?: Check<Category>): MaybePromise<Id>;
}

declare module '../../store/store.ts' {
  interface PetstoreReads extends CategoryReads {}
  interface PetstoreWrites extends CategoryWrites {}
}

declare module '../../store/events.ts' {
  interface EventTypes extends RecordEvents<'category', Category> {}
}

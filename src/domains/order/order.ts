import { z } from 'zod';
import { AppError } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import { formatInstant, parseInstant } from '../../foundation/instant.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { boolean, type InputDialect, inputObject, integer } from '../../foundation/validation.ts';
import type { RecordEvents } from '../../store/events.ts';
import type { Check, Page, PageRequest } from '../../store/store.ts';

/** An order for an animal. */
export interface Order {
  id: Id;
  /** May refer to a deleted pet once the order is complete. */
  petId?: Id;
  quantity?: number;
  /** RFC 3339 in UTC, `2026-01-31T09:30:00Z`, with milliseconds only if they are not zero. */
  shipDate?: string;
  complete: boolean;
}

export interface NewOrder {
  /** Chosen by the client; assigned if missing. */
  id?: Id | undefined;
  petId?: Id | undefined;
  quantity?: number | undefined;
  shipDate?: string | undefined;
  complete: boolean;
}

/** Missing properties stay as they are; `null` removes the value. */
export interface OrderPatch {
  petId?: Id | null | undefined;
  quantity?: number | null | undefined;
  shipDate?: string | null | undefined;
  complete?: boolean | undefined;
}

export interface OrderFilter {
  petId?: Id | undefined;
  complete?: boolean | undefined;
}

const quantity = () => integer(1, 2147483647);

const SHIP_DATE_RULE = 'must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z';

/** An instant, normalised to UTC. */
const shipDate = () =>
  z.string({ error: SHIP_DATE_RULE }).transform((value, context) => {
    const instant = parseInstant(value);
    if (instant !== null) return formatInstant(instant);
    context.addIssue(SHIP_DATE_RULE);
    return z.NEVER;
  });

export const newOrder = ({ id, optional }: InputDialect) =>
  inputObject({
    id: optional(id),
    petId: optional(id),
    quantity: optional(quantity()),
    shipDate: optional(shipDate()),
    complete: optional(boolean()).transform((complete) => complete ?? false),
  });

export const orderPatch = ({ id }: InputDialect) =>
  inputObject({
    petId: id.nullable().optional(),
    quantity: quantity().nullable().optional(),
    shipDate: shipDate().nullable().optional(),
    complete: boolean().optional(),
  });

export const orderIdTaken = (id: Id) => new AppError('CONFLICT', `Order id ${id} is taken.`);

interface OrderReads {
  ordersById(ids: readonly Id[]): MaybePromise<(Order | null)[]>;
  orderPage(filter: OrderFilter, page: PageRequest): MaybePromise<Page<Order>>;
  orderPagesByPet(petIds: readonly Id[], filter: OrderFilter, page: PageRequest): MaybePromise<Page<Order>[]>;
  orderCount(filter: OrderFilter): MaybePromise<number>;
  orderCountsByPet(petIds: readonly Id[], filter: OrderFilter): MaybePromise<number[]>;
}

interface OrderWrites {
  /** @throws UNKNOWN_REFERENCE, CONFLICT if the chosen id is taken */
  createOrder(input: NewOrder): MaybePromise<Order>;
  /**
   * A petId set by the patch must refer to a pet. So must the existing one if the patch reopens a complete
   * order, because an incomplete order must not refer to a deleted pet.
   *
   * @throws NOT_FOUND, UNKNOWN_REFERENCE, and whatever `check` throws
   */
  updateOrder(id: Id, patch: OrderPatch, check?: Check<Order>): MaybePromise<Order>;
  /** @throws NOT_FOUND, and whatever `check` throws */
  deleteOrder(id: Id, check?: Check<Order>): MaybePromise<Id>;
}

declare module '../../store/store.ts' {
  interface PetstoreReads extends OrderReads {}
  interface PetstoreWrites extends OrderWrites {}
}

declare module '../../store/events.ts' {
  interface EventTypes extends RecordEvents<'order', Order> {}
}

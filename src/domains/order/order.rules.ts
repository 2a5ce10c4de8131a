import { z } from 'zod';
import { boolean, inputObject, integer, type Notation } from '../notation.ts';
import { formatInstant, parseInstant } from './instant.ts';

const quantity = () => integer(1, 2147483647);

const SHIP_DATE_RULE = 'must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z';

/** An instant, normalised to UTC. */
const shipDate = () =>
  z.string({ error: SHIP_DATE_RULE }).transform((value, context) => {
    const instant = parseInstant(value);
    if (instant !== null) return formatInstant(instant);
    context.issues.push({ code: 'custom', input: value, message: SHIP_DATE_RULE });
    return z.NEVER;
  });

export const newOrder = ({ id, optional }: Notation) =>
  inputObject({
    id: optional(id),
    petId: optional(id),
    quantity: optional(quantity()),
    shipDate: optional(shipDate()),
    complete: optional(boolean()).transform((complete) => complete ?? false),
  });

export const orderPatch = ({ id }: Notation) =>
  inputObject({
    petId: id.nullable().optional(),
    quantity: quantity().nullable().optional(),
    shipDate: shipDate().nullable().optional(),
    complete: boolean().optional(),
  });

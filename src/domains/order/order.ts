import { boolean, defaulting, instant, integer, optional, reference } from '../../foundation/fields.ts';
import { MAX_INT32 } from '../../foundation/id.ts';
import { declareRecord } from '../../foundation/declare-record.ts';
import type { RecordOf } from '../../foundation/record.ts';
import { Pet } from '../pet/pet.ts';

/** An order for an animal. It may refer to a deleted pet once it is complete. */
export const Order = declareRecord({
  kind: 'order',
  plural: 'orders',
  type: 'Order',
  description: 'An order for an animal.',
  id: 'Unique order identifier, chosen by the client or assigned',
  choosesId: true,
  fields: {
    petId: optional(
      reference(Pet, 'ID of the animal in this order', {
        where: { complete: false },
        name: 'incomplete orders',
      }),
    ),
    quantity: optional(integer(1, MAX_INT32, 'Number of units ordered', 1)),
    shipDate: optional(instant('Expected or actual ship date', '2026-12-01T09:30:00Z')),
    complete: defaulting(false, boolean('Whether the order has been fulfilled', false)),
  },
  filters: ['petId', 'complete'],
  sorts: ['shipDate'],
});
export type Order = RecordOf<typeof Order>;

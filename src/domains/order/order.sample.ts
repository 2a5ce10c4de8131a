import type { SampleOf } from '../../kit/domain.ts';
import type { Order } from './order.ts';

export const orderSample: SampleOf<typeof Order> = [
  { petId: 0, quantity: 1, shipDate: '2026-12-01T09:30:00Z', complete: false },
  { petId: 2, quantity: 1, shipDate: '2026-10-15T14:00:00Z', complete: true },
  { petId: 8, quantity: 10, complete: false },
];

import { inputObject, integer } from '../../foundation/validation.ts';
import type { Pet } from '../pet/pet.ts';

export const inventoryUpdate = () => inputObject({ quantity: integer(0, 2147483647) });

declare module '../../store/events.ts' {
  /** A change to nothing but a pet's quantity. */
  interface EventTypes {
    'inventory.updated': Pet;
  }
}

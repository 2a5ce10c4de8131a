import { inputObject, integer } from '../notation.ts';

export const inventoryUpdate = () => inputObject({ quantity: integer(0, 2147483647) });

import { graphqlDialect, inputObject } from '../../foundation/validation.ts';
import { Pet } from '../pet/pet.ts';

/** The stock of a pet, which both interfaces take alike. */
export const inventoryUpdate = () => inputObject({ quantity: Pet.fields.quantity.rule(graphqlDialect) });

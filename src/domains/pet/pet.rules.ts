import { inputObject, type Notation, oneOf, trimmedText } from '../notation.ts';
import { PET_STATUSES } from '../records.ts';

/** Characters of a name. */
export const MAX_NAME_LENGTH = 200;

/** Stored trimmed. */
export const name = () => trimmedText(1, MAX_NAME_LENGTH);
export const petStatus = () => oneOf(PET_STATUSES);

export const newPet = ({ id, optional }: Notation) =>
  inputObject({
    name: name(),
    categoryId: id,
    status: optional(petStatus()).transform((status) => status ?? 'available'),
  });

export const petPatch = ({ id }: Notation) =>
  inputObject({ name: name().optional(), categoryId: id.optional(), status: petStatus().optional() });

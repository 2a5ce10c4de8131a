import { PET_STATUSES } from '../../store/store.ts';
import { inputObject, type Notation, oneOf, trimmedText } from '../notation.ts';

/** 1..200 characters, stored trimmed (contract section 1). */
export const name = () => trimmedText(1, 200);
export const petStatus = () => oneOf(PET_STATUSES);

export const newPet = ({ id, optional }: Notation) =>
  inputObject({
    name: name(),
    categoryId: id,
    status: optional(petStatus()).transform((status) => status ?? 'available'),
  });

export const petPatch = ({ id }: Notation) =>
  inputObject({ name: name().optional(), categoryId: id.optional(), status: petStatus().optional() });

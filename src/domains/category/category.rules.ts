import { inputObject, type Notation, text } from '../notation.ts';
import { name } from '../pet/pet.rules.ts';

/** Characters of a description. */
export const MAX_DESCRIPTION_LENGTH = 2_000;

const description = () => text(0, MAX_DESCRIPTION_LENGTH);

export const newCategory = ({ optional }: Notation) =>
  inputObject({ name: name(), description: optional(description()) });

export const categoryPatch = () =>
  inputObject({ name: name().optional(), description: description().nullable().optional() });

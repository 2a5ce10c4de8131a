import { inputObject, type Notation, text } from '../notation.ts';
import { name } from '../pet/pet.rules.ts';

/** Up to 2,000 characters (contract section 1). */
const description = () => text(0, 2000);

export const newCategory = ({ optional }: Notation) =>
  inputObject({ name: name(), description: optional(description()) });

export const categoryPatch = () =>
  inputObject({ name: name().optional(), description: description().nullable().optional() });

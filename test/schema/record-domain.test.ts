import { expect, it } from 'vitest';
import { Pet } from '../../src/domains/pet/pet.ts';
import { recordDomain } from '../../src/domains/record-domain.ts';

it('refuses to describe what a record does not have, and paths of others', () => {
  const descriptions = { 'Pet.categroy': 'Its kind.', '?status': 'By status.' };
  expect(() => recordDomain(Pet, { tag: 'Pets', example: { categoryId: 2 }, descriptions })).toThrow(
    /^Pet: the domain describes Pet\.categroy, but can describe only .*Mutation\.createPet.* Pet\.category, Category\.pets\.$/,
  );
  for (const path of ['/docs', '/store/pets/', '/store//pets'] as const)
    expect(() => recordDomain(Pet, { tag: 'Pets', example: {}, path })).toThrow(
      `Pet: the path ${path} is taken, or not written like /store/pets.`,
    );
  // @ts-expect-error no record has this value
  expect(() => recordDomain(Pet, { tag: 'Pets', example: { status: 'gone' }, descriptions })).toThrow();
});

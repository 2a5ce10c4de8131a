import type { SampleOf } from '../../kit/domain.ts';
import type { Pet } from './pet.ts';

export const petSample: SampleOf<typeof Pet> = [
  { name: 'Rex', categoryId: 0, status: 'available', quantity: 3 },
  { name: 'Bella', categoryId: 0, status: 'pending', quantity: 1 },
  { name: 'Charlie', categoryId: 0, status: 'sold', quantity: 0 },
  { name: 'Mimi', categoryId: 1, status: 'available', quantity: 2 },
  { name: 'Tom', categoryId: 1, status: 'available', quantity: 5 },
  { name: 'Luna', categoryId: 1, status: 'sold', quantity: 0 },
  { name: 'Tweety', categoryId: 2, status: 'available', quantity: 12 },
  { name: 'Kiwi', categoryId: 2, status: 'pending', quantity: 4 },
  { name: 'Nemo', categoryId: 3, status: 'available', quantity: 40 },
  { name: 'Dory', categoryId: 3, status: 'available', quantity: 25 },
];

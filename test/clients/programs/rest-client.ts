import createClient from 'openapi-fetch';
import type { paths } from './generated/petstore.ts';

export async function adopt(baseUrl: string, key: string): Promise<string> {
  const petstore = createClient<paths>({ baseUrl, headers: { 'X-API-Key': key } });
  const { data: pet, error } = await petstore.POST('/pets', {
    body: { name: 'Oscar', categoryId: 2 },
    // Sent again with the same key, the request creates no second pet.
    headers: { 'Idempotency-Key': 'adopt-oscar' },
  });
  if (error) throw new Error(error.message);
  return `${pet.name} is ${pet.status}`;
}

import { Api, HttpClient } from './petstore.generated.ts';

export async function adopt(url: string, key: string): Promise<string> {
  const petstore = new Api(
    new HttpClient({ baseUrl: url, baseApiParams: { headers: { 'X-API-Key': key } } }),
  );
  const { data: pet } = await petstore.pets.createPet(
    { name: 'Oscar', categoryId: 2 },
    // Sent again with the same key, the request creates no second pet.
    { headers: { 'Idempotency-Key': 'adopt-oscar' } },
  );
  return `${pet.name} is ${pet.status}`;
}

import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { print } from 'graphql';
import { CategoriesWithPetsDocument } from './documents.generated.ts';

async function query<Result, Variables>(
  url: string,
  key: string,
  document: TypedDocumentNode<Result, Variables>,
  variables: Variables,
): Promise<Result> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
    body: JSON.stringify({ query: print(document), variables }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(errors[0].message);
  return data;
}

export async function stockByCategory(url: string, key: string): Promise<string[]> {
  const { categories } = await query(url, key, CategoriesWithPetsDocument, { first: 2 });
  return categories.nodes.map(({ name, pets }) => {
    const stock = pets.nodes.map((pet) => `${pet.name} ${pet.inventory.quantity}`);
    return `${name}: ${stock.join(', ')}`;
  });
}

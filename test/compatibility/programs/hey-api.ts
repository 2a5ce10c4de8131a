import { client } from './hey-api/client.gen.ts';
import { createPet, deletePet, getPet, listEvents, listPets } from './hey-api/index.ts';

/** A round trip through the client of Hey API, which sends the key by the description's security schemes. */
const [baseUrl, key] = process.argv.slice(2) as [string, string];
client.setConfig({ baseUrl, auth: ({ type }) => (type === 'apiKey' ? key : undefined) });
const needed = { throwOnError: true } as const;

const { data: created } = await createPet({
  body: { name: 'Hey', categoryId: 1 },
  headers: { 'Idempotency-Key': 'hey-api' },
  ...needed,
});
const path = { petId: created.id };
const { data: read } = await getPet({ path, ...needed });
const { data: listed } = await listPets({
  query: { name: 'Hey', status: ['available'], limit: 5 },
  ...needed,
});
const { data: events } = await listEvents({ query: { type: ['pet.created'], sort: '-id' }, ...needed });
const name = events[0]?.type === 'pet.created' ? events[0].data.name : undefined;
await deletePet({ path, ...needed });
const { error } = await getPet({ path });
console.log(`${read.name}, ${listed.length} listed, event of ${name}, ${error?.code}`);

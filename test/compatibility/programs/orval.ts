import { createPet, deletePet, getPet, listEvents, listPets } from './orval/petstore.ts';

/** A round trip through the client of orval. */
const headers = { 'X-API-Key': process.argv[3]! };

const created = await createPet(
  { name: 'Orval', categoryId: 1 },
  { 'Idempotency-Key': 'orval' },
  { headers },
);
if (created.status !== 201) throw new Error(created.data.code);
const { id } = created.data;
const read = await getPet(id, undefined, { headers });
if (read.status !== 200) throw new Error(String(read.status));
const listed = await listPets({ name: 'Orval', status: ['available'], limit: 5 }, undefined, { headers });
if (listed.status !== 200) throw new Error(String(listed.status));
const events = await listEvents({ type: ['pet.created'], sort: '-id' }, undefined, { headers });
const event = events.status === 200 ? events.data[0] : undefined;
const name = event?.type === 'pet.created' ? event.data.name : undefined;
await deletePet(id, undefined, { headers });
const gone = await getPet(id, undefined, { headers });
const code = gone.status === 404 ? gone.data.code : gone.status;
console.log(`${read.data.name}, ${listed.data.length} listed, event of ${name}, ${code}`);

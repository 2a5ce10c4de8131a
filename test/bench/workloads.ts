/** One kind of request, repeated. */
export interface Workload {
  name: string;
  what: string;
  path: string;
  body?: string;
}

const graphql = (name: string, what: string, query: string): Workload => ({
  name,
  what,
  path: '/graphql',
  body: JSON.stringify({ query }),
});
export const WORKLOADS: Workload[] = [
  graphql('G1', 'query of one pet', '{ pet(id: "42") { id name status } }'),
  graphql(
    'G2',
    'query of 20 pets with category and inventory',
    '{ pets(first: 20) { nodes { id name status category { id name } inventory { quantity } } } }',
  ),
  graphql(
    'G3',
    'query of 50 categories with 10 pets each',
    '{ categories(first: 50) { nodes { id name pets(first: 10) { nodes { id name category { id name } } } } } }',
  ),
  { name: 'R1', what: 'GET one pet', path: '/pets/42' },
  { name: 'R2', what: 'GET a page of 20', path: '/pets?limit=20' },
  {
    name: 'R3',
    what: 'POST a pet',
    path: '/pets',
    body: '{"name":"Bench pet","categoryId":7,"status":"available"}',
  },
];

import { parse, print } from 'graphql';

export interface Example {
  title: string;
  about: string;
  query: string;
  variables?: string;
}

/** An operation as GraphiQL formats it. */
const formatted = (query: string): string => `${print(parse(query))}\n`;

/** The first is in GraphiQL on the first visit. */
export const EXAMPLES: readonly [Example, ...Example[]] = [
  {
    title: 'Nested pets',
    about: 'Categories with their pets, stock and orders, in one request.',
    query: formatted(`query PetsAndCategories {
      categories(first: 3) {
        nodes {
          name description pets(first: 5, filter: { status: [available, pending] }) {
            totalCount nodes { id name status inventory { quantity } orders(first: 2) { nodes { id quantity complete } } }
          }
        }
      }
    }`),
  },
  {
    title: 'Filters',
    about: 'The latest open orders.',
    query: formatted(`query OpenOrders {
      orders(filter: { complete: false }, last: 5) {
        nodes { id quantity shipDate pet { name category { name } } }
      }
    }`),
  },
  {
    title: 'Pagination',
    about: 'For the next page, set the variable "after" to endCursor.',
    query: formatted(`query Inventory($after: String) {
      inventory(first: 5, after: $after, filter: { status: [available] }) {
        totalCount nodes { quantity status pet { name } } pageInfo { hasNextPage endCursor }
      }
    }`),
    variables: '{\n  "after": null\n}\n',
  },
  {
    title: 'A mutation',
    about: 'Creates an order. Every run creates another one.',
    query: formatted(`mutation CreateOrder($input: NewOrder!) {
      createOrder(input: $input) { id complete pet { name } }
    }`),
    variables: '{\n  "input": { "petId": "1", "quantity": 2 }\n}\n',
  },
  {
    title: 'One pet',
    about: 'A lookup by id: what GET /pets/1 answers.',
    query: formatted('query Pet { pet(id: 1) { id name status categoryId } }'),
  },
  {
    title: 'Rate limit',
    about: 'The limits of your key and what is left. Free.',
    query: formatted(`query RateLimit {
      rateLimit { plan minute { limit remaining resetAt } day { limit remaining resetAt } }
    }`),
  },
  {
    title: 'Ordering and finding',
    about: 'Pets whose name begins with "re", regardless of case and accents, from Z to A.',
    query: formatted(`query FindPets {
      pets(filter: { name: "re" }, sort: name_desc, first: 5) { totalCount nodes { name status } }
    }`),
  },
  {
    title: 'A subscription',
    about: 'Every change as it happens, until you stop it. Run "A mutation" in another browser tab.',
    query: formatted(`subscription Changes {
    events { id type time pet { name status } order { id quantity complete } }
  }`),
  },
];

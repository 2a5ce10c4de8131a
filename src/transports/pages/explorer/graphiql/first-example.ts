/** The operation in GraphiQL on the first visit: nested data in one request. */
export const FIRST_EXAMPLE = `query PetsAndCategories {
  categories(first: 3) {
    nodes {
      name
      description
      pets(first: 5, filter: { status: [available, pending] }) {
        totalCount
        nodes {
          id
          name
          status
          inventory {
            quantity
          }
          orders(first: 2) {
            nodes {
              id
              quantity
              complete
            }
          }
        }
      }
    }
  }
}
`;

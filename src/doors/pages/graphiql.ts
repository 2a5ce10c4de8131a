import type { GraphiQLOptions } from 'graphql-yoga';
import { GRAPHQL_PATH } from '../graphql/graphql.ts';
import { Asset } from './asset.ts';
import { HTML_TYPE, pageHeaders, type Sources } from './html.ts';

/** Monaco, the editor in it, styles from scripts, brings its fonts as data and runs its workers from blobs. */
const SOURCES: Sources = {
  'style-src': "'unsafe-inline'",
  'img-src': 'data:',
  'font-src': 'data:',
  'worker-src': 'blob:',
  'connect-src': "'self'",
};

/** GraphiQL 5 moves a tab from under the pointer that presses it, which then never clicks it. */
const STYLE = '<style>.graphiql-tab { transform: none !important; }</style>';

/** Stands in the options, which are JSON, for a function. */
const NOTHING = '"(does nothing)"';

/** What a newcomer finds open: one thing to try on each tab. */
const TABS = [
  `# Categories, their pets, stock and orders in one go.
# Ctrl-Enter runs it, Ctrl-Space shows what fits.
query PetsAndCategories {
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
`,
  `# Creates an order. Each run creates another one.
mutation CreateOrder {
  createOrder(input: { petId: 1, quantity: 2 }) {
    id
    complete
    pet {
      name
    }
  }
}
`,
  `# The latest orders that are still open.
query OpenOrders {
  orders(filter: { complete: false }, last: 5) {
    nodes {
      id
      quantity
      shipDate
      pet {
        name
        category {
          name
        }
      }
    }
  }
}
`,
  `# What is in stock, page by page:
# add after: "…" with the endCursor of the page before.
query Inventory {
  inventory(first: 5, filter: { status: [available] }) {
    totalCount
    nodes {
      quantity
      status
      pet {
        name
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`,
  `# What is left for your key. Asking costs nothing.
query RateLimit {
  rateLimit {
    plan
    minute {
      limit
      remaining
      resetAt
    }
    day {
      limit
      remaining
      resetAt
    }
  }
}
`,
];

/**
 * GraphiQL with all its assets in one page: it works without the internet.
 *
 * @param apiKey filled into the header editor; for development starts only
 */
export function graphiqlPage(apiKey: string | undefined): Asset {
  const headers = JSON.stringify({ 'X-API-Key': apiKey ?? '' }, null, 2);
  return new Asset({
    contentType: HTML_TYPE,
    content: async () => {
      // Nine megabytes, for those who look at the page.
      const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
      const options: GraphiQLOptions = {
        title: 'Petstore GraphiQL',
        endpoint: GRAPHQL_PATH,
        headers,
        defaultTabs: TABS.map((query) => ({ query, headers })),
        defaultEditorToolsVisibility: 'headers',
        // Keys don't belong into the storage of a browser.
        shouldPersistHeaders: false,
        inputValueDeprecation: true,
      };
      // It would write the query into the address, and a page reloaded from there is a GraphQL request.
      const html = renderGraphiQL({ ...options, onEditQuery: JSON.parse(NOTHING) } as GraphiQLOptions);
      return html
        .trimStart()
        .replace('</head>', `${STYLE}</head>`)
        .replace(`"onEditQuery":${NOTHING}`, '"onEditQuery":()=>{}');
    },
    headers: (html) => pageHeaders(html, SOURCES),
  });
}

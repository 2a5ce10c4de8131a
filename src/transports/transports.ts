import type { GraphQLSchema } from 'graphql';
import type { OpenStreams } from '../access/open-streams.ts';
import type { Config } from '../config.ts';
import type { EventStreams } from '../domains/event/streams.ts';
import { ROUTES, STREAMS } from '../domains/routes.ts';
import type { Operations } from '../execution/operations.ts';
import type { TrustedDocuments } from '../execution/trusted-documents.ts';
import type { Authentication } from '../http/authentication.ts';
import type { Cors } from '../http/cors.ts';
import type { Transport } from '../http/transport.ts';
import { lifecycleOf } from '../schema/lifecycle.ts';
import type { Route } from '../schema/route.ts';
import type { Store } from '../store/store.ts';
import { GraphQLTransport } from './graphql/graphql.ts';
import { McpTransport } from './mcp/mcp.ts';
import { type PageMetrics, Pages } from './pages/pages.ts';
import { Preflight } from './preflight.ts';
import { Exports } from './rest/export.ts';
import { RestTransport } from './rest/rest.ts';

/** What transports are made from. */
export interface Services {
  config: Config;
  store: Store;
  schema: GraphQLSchema;
  operations: Operations;
  trusted: TrustedDocuments;
  streams: EventStreams;
  openStreams: OpenStreams;
  authentication: Authentication;
  cors: Cors;
  /** Receives errors that clients must not see. */
  report: (error: unknown, requestId?: string) => void;
  /** Served to scrapers if present. */
  metrics?: PageMetrics | undefined;
  /** Filled in on the pages for trying things out; development only. */
  developmentKey?: string | undefined;
  /** All REST operations by default. */
  routes?: readonly Route[] | undefined;
}

/** All transports. The first that matches a request answers it; the last matches every request. */
export function transportsOf(services: Services): readonly Transport[] {
  const {
    config,
    cors,
    operations,
    trusted,
    streams,
    openStreams,
    authentication,
    report,
    routes = ROUTES,
  } = services;
  return [
    new Preflight(cors),
    new Pages({ ...services, routes }),
    ...(config.MCP ? [new McpTransport({ ...services, routes })] : []),
    new GraphQLTransport({ operations, trusted, streams, authentication }),
    new RestTransport({
      operations,
      streams,
      exports: new Exports(openStreams, report),
      authentication,
      basePath: config.REST_BASE_PATH,
      lifecycle: lifecycleOf(config),
      rows: [...routes, ...STREAMS],
    }),
  ];
}

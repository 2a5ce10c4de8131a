import type { Transport } from '../http/transport.ts';
import { GraphQLTransport } from './graphql/graphql.ts';
import { McpTransport } from './mcp/mcp.ts';
import { Pages } from './pages/pages.ts';
import { RestTransport } from './rest/rest.ts';
import type { TransportServices } from './transport-services.ts';

/** All transports. The first one that matches a request handles it; the last one matches every request. */
export function transportsOf(services: TransportServices): readonly Transport[] {
  const pages = new Pages(services);
  return [
    services.cors,
    pages,
    ...(services.config.MCP ? [new McpTransport(services)] : []),
    new GraphQLTransport(services),
    new RestTransport(services, (error, context) => pages.errorPage(error, context)),
  ];
}

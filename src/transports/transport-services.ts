import type { Access } from '../access/access.ts';
import type { OpenStreams } from '../access/open-streams.ts';
import type { Config } from '../config.ts';
import type { Api } from '../domains/create-api.ts';
import type { EventStreams } from '../events/streams.ts';
import type { Cors } from '../http/cors.ts';
import type { NamedDocuments } from '../graphql/named-documents.ts';
import type { Operations } from '../graphql/operations.ts';
import type { ServedRoute } from '../rest-routes/route.ts';
import type { Store } from '../store/store.ts';

/** The services for transports. */
export interface TransportServices {
  config: Config;
  store: Store;
  api: Api;
  operations: Operations;
  documents: NamedDocuments;
  streams: EventStreams;
  openStreams: OpenStreams;
  access: Access;
  cors: Cors;
  /** `isStopping` is true if the process is about to stop and should get no more requests. */
  readiness: { isStopping: boolean };
  /** Receives errors that clients must not see. */
  report: (error: unknown, requestId?: string) => void;
  /** The metrics to serve, if any. */
  metrics?: { readonly contentType: string; text(): Promise<string> } | undefined;
  /** The REST operations. */
  routes: readonly ServedRoute[];
}

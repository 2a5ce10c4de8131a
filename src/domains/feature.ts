import type { Config } from '../config.ts';
import type { EventTypes } from '../events/event-types.ts';
import type { EventFeed } from '../events/feed.ts';
import type { Session } from '../access/session.ts';
import type { Clock } from '../foundation/instant.ts';
import type { MaybePromise } from '../foundation/turns.ts';
import type { Resource } from '../rest-routes/route.ts';
import type { Builder } from '../schema/builder.ts';
import type { Context } from '../schema/context.ts';
import type { ExportPart } from '../store/dump.ts';
import type { ObjectKind } from '../store/objects.ts';
import type { Store } from '../store/store.ts';
import type { Domain } from './domain.ts';

/** A feature's contributions to the program, all optional. Only `api.ts` names features. */
export interface Feature {
  /** Kinds of objects to add to the store. */
  objects?: readonly ObjectKind<never>[];
  /** REST resources. @param types the event types of the domains */
  resources?(types: EventTypes): readonly Resource[];
  /** Adds types, fields and operations to a GraphQL schema. */
  addTypes?(builder: Builder, types: EventTypes<Domain>, domains: readonly Domain[]): void;
  /** Parts of an export, in the order of an import. */
  exports?: readonly ExportPart[];
  /** Commands below `petstore keys` for one key. */
  keyCommands?: readonly KeyCommand[];
  /** Starts the feature in a server process. */
  start?(services: FeatureServices): RunningFeature;
}

/** The services of a process for features. */
export interface FeatureServices {
  config: Config;
  store: Store;
  feed: EventFeed;
  eventTypes: EventTypes;
  clock: Clock;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Receives errors of background work. */
  report: (error: unknown) => void;
  /** Opens a session of the key with this id; null if the key is no longer valid. */
  sessionOf: (apiKeyId: string) => MaybePromise<Session | null>;
}

/** A feature that runs in a process. */
export interface RunningFeature {
  /** Additions to the context of resolvers. */
  context?: Partial<Context>;
  metrics?: readonly Metric[];
  /** Loads rarely used modules before they are needed. */
  load?(): Promise<unknown>;
  /** Begins background work, once the server accepts requests. */
  begin?(): void;
  /** Ends background work. @param patience the time that running work may take, in milliseconds */
  end?(patience?: number): Promise<void>;
}

/** A metric that is read when scraped. */
export interface Metric {
  type: 'counter' | 'gauge';
  name: string;
  help: string;
  labelNames?: readonly string[];
  values(): readonly { labels?: Record<string, string>; value: number }[];
}

/** The command `petstore keys NAME ID`. */
export interface KeyCommand {
  name: string;
  description: string;
  /** An option with a value, such as `--disable <id>`. */
  option: readonly [flags: string, description: string];
  /** @param options the values of options by name */
  run(store: Store, keyId: string, options: Readonly<Record<string, string>>): Promise<KeyReport>;
}

/** The output of a command: rows for programs, and the same as the cells of a table for people. */
export interface KeyReport {
  rows: readonly object[];
  header: readonly string[];
  cells: readonly (readonly string[])[];
}

import type { Config } from '../config.ts';
import type { EventTypes } from '../events/event-types.ts';
import type { EventFeed } from '../events/feed.ts';
import type { Session } from '../access/session.ts';
import type { Clock } from '../foundation/instant.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Resource } from '../rest-routes/route.ts';
import type { Builder } from '../schema/builder.ts';
import type { Context } from '../schema/context.ts';
import type { ExportPart } from '../store/dump.ts';
import type { ObjectKind } from '../store/objects.ts';
import type { Store } from '../store/store.ts';
import type { Domain } from './domain.ts';

/**
 * The parts that a feature adds to the program, all of them optional. The rest of the program names no feature: `api.ts` lists
 * them.
 */
export interface Feature {
  /** The kinds of objects that it adds to the store. */
  objects?: readonly ObjectKind<never>[];
  /** Its resources over REST. @param types of the domains' events */
  resources?(types: EventTypes): readonly Resource[];
  /** Adds its types, fields and operations to a GraphQL schema. */
  addTypes?(builder: Builder, types: EventTypes<Domain>, domains: readonly Domain[]): void;
  /** Its parts of an export, in the order in which an import reads them. */
  exports?: readonly ExportPart[];
  /** Commands below `petstore keys` that are about one key. */
  keyCommands?: readonly KeyCommand[];
  /** Sets it to work in a process that serves. */
  start?(services: FeatureServices): RunningFeature;
}

/** The services of the process for features. */
export interface FeatureServices {
  config: Config;
  store: Store;
  feed: EventFeed;
  eventTypes: EventTypes;
  clock: Clock;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Receives errors that nobody else sees. */
  report: (error: unknown) => void;
  /** A session of the key with this id; null if it is no longer valid. */
  sessionOf: (apiKeyId: string) => MaybePromise<Session | null>;
}

/** A feature at work in a process. */
export interface RunningFeature {
  /** Members of the context of resolvers. */
  context?: Partial<Context>;
  metrics?: readonly Metric[];
  /** Begins what it does of its own accord, once the server accepts requests. */
  begin?(): void;
  /** Ends that. @param patience the time that work under way may take, in milliseconds */
  end?(patience?: number): Promise<void>;
}

/** A metric whose values are read when it is scraped. */
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
  /** Its option with a value, such as `--disable <id>`. */
  option: readonly [flags: string, description: string];
  /** @param options the value by the name of the option */
  run(store: Store, keyId: string, options: Readonly<Record<string, string>>): Promise<KeyReport>;
}

/** Rows for programs, and the same as cells of a table for people. */
export interface KeyReport {
  rows: readonly object[];
  header: readonly string[];
  cells: readonly (readonly string[])[];
}

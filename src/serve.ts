import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { using } from './cli/command.ts';
import { type Config, isTracingConfigured, readConfig } from './config.ts';
import { developmentKey, keptKey, keyFileOf } from './development-key.ts';
import { api } from './api.ts';
import { AppError } from './foundation/errors.ts';
import { deferred } from './foundation/turns.ts';
import { Gateway } from './gateway.ts';
import { type Log, openLog } from './observability/log.ts';
import { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import { addSampleData, isUnused } from './sample.ts';
import { HttpServer, listen } from './server.ts';
import { openStore, watchDatabase } from './store/open.ts';
import type { Store } from './store/store.ts';

/** The delay before the next attempt to fill an unreachable database, in milliseconds. */
const RETRY_DELAY = 2_000;
/** The time limits for stopping in total, whatever hangs, and for flushing the log, in milliseconds. */
const STOP_TIMEOUT = 10_000;
const LOG_FLUSH_TIMEOUT = 500;

/** The number of connections at which rarely used modules are loaded. Far more could leave no file descriptors for that. */
const MANY_CONNECTIONS = 100;

/** The command `petstore serve`. */
export function define(command: Command): void {
  command
    .option('-p, --port <port>', 'the port to listen on, instead of PORT')
    .addHelpText(
      'after',
      `
Everything else is set by environment variables, which docs/operating.md lists:
PORT, HOST, DATA_FILE, MONGODB_URI, LOG_LEVEL, NODE_ENV …`,
    )
    .action(async ({ port }: { port?: string }) => {
      const config = readConfig({ ...process.env, ...(port !== undefined && { PORT: port }) });
      const output = await openLog(config.LOG_LEVEL);
      const { log } = output;
      const module = isTracingConfigured(config) ? await import('./observability/tracing.ts') : undefined;
      const tracing = await module?.Tracing.start(config, {
        warn: (message) => log.warn({ message }, 'traces'),
        error: (message) => log.error({ message }, 'traces'),
      });
      const open = () => openStore(config, api, 'server');
      const exit = () => output.end(LOG_FLUSH_TIMEOUT).then(() => process.exit(0));
      await using(config, open, (store) => serve(store, config, { output, tracing, exit }));
      await tracing?.close();
      await exit();
    });
}

/** Serves until a signal, and calls `exit` if stopping takes too long. */
async function serve(
  store: Store,
  config: Config,
  { output, tracing, exit }: { output: Log; tracing: Tracing | undefined; exit: () => void },
): Promise<void> {
  // When an entry of a list fails, graphql-js responds without waiting for the others. The response has that error, so
  // later ones must not end the process.
  process.on('unhandledRejection', (error) => {
    if (!(error instanceof GraphQLError)) throw error;
  });
  const { log } = output;
  watchDatabase(store, config.MONGODB_URI, log);
  const key = await prepare(store, config, log);

  const metrics = config.METRICS ? new Metrics({ linesDropped: output.dropped }) : undefined;
  metrics?.observeProcess();
  const gateway = new Gateway({ api, store, config, log, metrics, tracing });
  const server = new HttpServer(gateway);
  server.on('connection', () => {
    if (server.openConnections === MANY_CONNECTIONS)
      gateway.load().catch((err) => log.error({ err }, 'error'));
  });
  const port = await listen(server, config.PORT, config.HOST);
  printBanner(output, config, port, key);

  const { promise: signalled, resolve: onSignal } = deferred<NodeJS.Signals>();
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  const { features } = gateway.services;
  for (const feature of features) feature.begin?.();
  log.info({ signal: await signalled }, 'stopping');
  // Load balancers notice, and send no more requests by the time connections are refused.
  gateway.services.readiness.isStopping = true;
  server.retire();
  // Without a delay, the listener closes at once, before clients that were told to leave reconnect and are reset.
  if (config.DRAIN_DELAY > 0) await sleep(config.DRAIN_DELAY * 1_000);
  gateway.services.openStreams.stop();
  setTimeout(exit, STOP_TIMEOUT - LOG_FLUSH_TIMEOUT);
  await Promise.all([server.drain(), ...features.map((feature) => feature.end?.())])
    .then(() => gateway.close())
    .catch((error: unknown) => log.error({ err: error }, 'error'));
}

/**
 * Adds sample data and a development key, if configured: later if the database is unreachable, which doesn't prevent
 * the start.
 *
 * @returns the key to print; null in production
 */
async function prepare(store: Store, config: Config, log: Logger): Promise<string | null> {
  const { SAMPLE_DATA = store.engine === 'sqlite' ? 'on' : 'off', NODE_ENV, DATA_FILE } = config;
  const file = NODE_ENV === 'production' ? undefined : keyFileOf(DATA_FILE);
  const addInitialData = async (): Promise<string | null> => {
    if (SAMPLE_DATA === 'on' && (await isUnused(store, api))) await addSampleData(store, api);
    return file === undefined ? null : await developmentKey(store, file, Date.now());
  };
  const retry = () =>
    addInitialData().catch((err) => (isTransient(err) ? addLater() : log.error({ err }, 'error')));
  const addLater = () => void setTimeout(retry, RETRY_DELAY).unref();
  try {
    return await addInitialData();
  } catch (error) {
    if (store.engine === 'sqlite' || !isTransient(error)) throw error;
    addLater();
    return file === undefined ? null : keptKey(file);
  }
}

/** True if the database is unreachable, or another process is adding sample data. */
const isTransient = (error: unknown): boolean =>
  error instanceof AppError && ['UNAVAILABLE', 'CONFLICT'].includes(error.code);

/** Prints the addresses with the development key in the fragment, which is never sent, or how to create a key. */
function printBanner(
  output: Log,
  { HOST, BASE_PATH, REST_BASE_PATH, GRAPHIQL, DATA_FILE }: Config,
  port: number,
  key: string | null,
): void {
  const host = ['127.0.0.1', '0.0.0.0'].includes(HOST) ? 'localhost' : HOST;
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}${BASE_PATH}`;
  const fragment = key === null ? '' : `#key=${key}`;
  const lines = [
    `Petstore gateway on ${address}`,
    `  Start      ${address}/${fragment}`,
    ...(GRAPHIQL ? [`  GraphQL    ${address}/graphql${fragment}`] : []),
    `  REST docs  ${address}/docs${fragment}`,
    `  Console    ${address}/console${fragment}`,
  ];
  if (key === null) {
    lines.push('  API keys   npx petstore keys create --name NAME --plan free');
  } else {
    lines.push(
      `  API key    ${key}`,
      `             for development, kept in ${keyFileOf(DATA_FILE)}`,
      '',
      'Try:',
      `  curl -H 'X-API-Key: ${key}' '${address}${REST_BASE_PATH}/pets?limit=2'`,
    );
  }
  output.print(`${lines.join('\n')}\n\n`);
}

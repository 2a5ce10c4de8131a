import { pino } from 'pino';
import { type Config, readConfig } from './config.ts';
import { createGateway } from './gateway.ts';
import { Metrics } from './observability/metrics.ts';
import { createHttpServer, drain, listen } from './server.ts';
import { openStore } from './store/open.ts';
import { addSampleData, developmentKey, isEmpty } from './store/sample.ts';
import type { Store } from './store/store.ts';

/** How long log lines may wait for others to be written with. */
const LOG_DELAY = 500;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const destination = pino.destination({ dest: 1, sync: false, minLength: 4_096 });
  const log = pino({ level: config.LOG_LEVEL, base: null }, destination);
  setInterval(() => destination.flush(), LOG_DELAY).unref();

  const store = await openStore(config, 'server');
  const embedded = store.engine === 'sqlite';
  const isDevelopment = embedded && config.NODE_ENV !== 'production';
  const key = await prepare(store, config.SAMPLE_DATA, isDevelopment);

  const metrics = config.METRICS ? new Metrics() : undefined;
  // The pages show it to whoever can open them, so they get it only where that is this machine alone.
  const developmentKey = key !== null && isLocal(config) ? key : undefined;
  const server = createHttpServer(createGateway({ store, config, log, metrics, developmentKey }));
  const port = await listen(server, config.PORT, config.HOST);
  greet(
    `http://${['127.0.0.1', '0.0.0.0'].includes(config.HOST) ? 'localhost' : config.HOST}:${port}`,
    config.REST_BASE_PATH,
    key,
  );

  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    await drain(server);
    await store.close();
    destination.flushSync();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}

/** Sample data and a key where they are due. A database that is away is no reason not to start. */
async function prepare(store: Store, sampleData: 'on' | 'off' | undefined, isDevelopment: boolean) {
  const wanted = sampleData === 'on' || (sampleData === undefined && store.engine === 'sqlite');
  if (!wanted && !isDevelopment) return null;
  const isNew = await isEmpty(store);
  if (isNew && wanted) await addSampleData(store);
  return isDevelopment ? developmentKey(store, isNew, Date.now()) : null;
}

const isLocal = ({ HOST, TRUST_PROXY }: Config): boolean =>
  ['127.0.0.1', '::1', 'localhost'].includes(HOST) && TRUST_PROXY === 0;

function greet(address: string, basePath: string, key: string | null): void {
  const lines = [
    `Petstore gateway on ${address}`,
    `  REST      ${address}${basePath}/pets`,
    `  GraphQL   ${address}/graphql`,
  ];
  lines.push(`  Docs      ${address}/docs`);
  if (key) {
    lines.push(
      `  API key   ${key}`,
      '',
      'Try:',
      `  curl -H 'X-API-Key: ${key}' '${address}${basePath}/pets?limit=2'`,
    );
  } else {
    lines.push('  API keys  npm run --silent keys -- list');
  }
  process.stdout.write(`${lines.join('\n')}\n\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});

import { readConfig } from '../../src/config.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { createGateway } from '../../src/gateway.ts';
import { openLog } from '../../src/observability/log.ts';
import { Metrics } from '../../src/observability/metrics.ts';
import { createHttpServer, listen } from '../../src/server.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { initialUsage } from '../../src/store/usage.ts';

/** The gateway without counting: every charge passes immediately. Its gain over the real one is the limiter's cost. */
const config = readConfig(process.env);
const store = openSqliteStore({ records: RECORDS, file: config.DATA_FILE, role: 'server' });
const usage = initialUsage();
const { log } = await openLog(config.LOG_LEVEL);
const uncountedStore = { ...store, charge: () => ({ outcome: 'passed' as const, usage }) };
const server = createHttpServer(
  createGateway({ store: uncountedStore, config, log, metrics: new Metrics() }),
);
await listen(server, config.PORT, config.HOST);
process.on('SIGTERM', () => {
  store.close();
  process.exit(0);
});

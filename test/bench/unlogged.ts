import type { SqliteConnection as Source } from '../../src/store/sqlite/connection.ts';

/** The built gateway without writes to the event log. What it saves is the cost of the log. */
const { SqliteConnection } = (await import(
  new URL('../../dist/store/sqlite/connection.js', import.meta.url).href
)) as { SqliteConnection: typeof Source };
const setCollector = SqliteConnection.prototype.setCollector;
SqliteConnection.prototype.setCollector = function (collector) {
  setCollector.call(this, {
    get size() {
      return collector.size;
    },
    truncate: (size) => collector.truncate(size),
    write: () => collector.truncate(0),
    onCommitted() {},
  });
};
await import(new URL('../../dist/main.js', import.meta.url).href);

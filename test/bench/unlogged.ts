import { SqliteConnection } from '../../src/store/sqlite/connection.ts';

/** The gateway without writes to the event log. What it saves is the cost of the log. */
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
await import('../../src/main.ts');

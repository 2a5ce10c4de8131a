import type { Connection as Source } from '../../src/store/sqlite/connection.ts';

/** The built gateway as it is, but that nothing is written to the log of changes. What it saves is what the log costs. */
const { Connection } = (await import(
  new URL('../../dist/store/sqlite/connection.js', import.meta.url).href
)) as { Connection: typeof Source };
const setCollector = Connection.prototype.setCollector;
Connection.prototype.setCollector = function (collector) {
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

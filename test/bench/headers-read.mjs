import { Server } from 'node:http';

/** Loaded into a server: tells the names of all request headers that anything has read so far. */
const names = new Set();
const { emit } = Server.prototype;
Server.prototype.emit = function (event, request, ...rest) {
  if (event === 'request') {
    const headers = new Proxy(request.headers, {
      get(known, name) {
        if (typeof name === 'string') names.add(name);
        return known[name];
      },
    });
    Object.defineProperty(request, 'headers', { value: headers });
  }
  return emit.call(this, event, request, ...rest);
};
process.on('message', () => process.send([...names]));
process.channel?.unref();

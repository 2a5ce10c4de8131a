import { connect, createServer, type Socket } from 'node:net';

/** The traffic since the last reading: commands from clients, and bytes in both directions. */
export interface Traffic {
  commands: number;
  bytes: number;
}

/**
 * A proxy to a MongoDB server that counts its traffic.
 *
 * @param uri of a server or a single node, with a database; clients of the proxy do not see the rest of its cluster
 * @returns the same URI through the proxy
 */
export async function countingProxy(uri: string) {
  const { hostname, port, pathname } = new URL(uri);
  const sockets = new Set<Socket>();
  const traffic: Traffic = { commands: 0, bytes: 0 };

  const server = createServer((near) => {
    const far = connect(Number(port || 27017), hostname);
    const count = commandCounter();
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('data', (chunk: Buffer) => {
        traffic.bytes += chunk.length;
        if (from === near) traffic.commands += count(chunk);
        to.write(chunk);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as { port: number };
  return {
    uri: `mongodb://127.0.0.1:${address.port}${pathname}?directConnection=true`,
    traffic(): Traffic {
      const since = { ...traffic };
      Object.assign(traffic, { commands: 0, bytes: 0 });
      return since;
    },
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Counts the messages that begin in each chunk of a stream. A message starts with its length as int32. */
function commandCounter(): (chunk: Buffer) => number {
  let rest = Buffer.alloc(0);
  let skip = 0;
  return (chunk) => {
    let count = 0;
    let at = Math.min(skip, chunk.length);
    skip -= at;
    while (at < chunk.length) {
      const head = Buffer.concat([rest, chunk.subarray(at, at + 4 - rest.length)]);
      at += head.length - rest.length;
      rest = head;
      if (head.length < 4) break;
      rest = Buffer.alloc(0);
      count += 1;
      const left = head.readInt32LE() - 4;
      skip = Math.max(0, left - (chunk.length - at));
      at += left;
    }
    return count;
  };
}

import { connect, createServer, type Server, type Socket } from 'node:net';
import { mongoUri, serverUri } from '../../kit/mongo.ts';

/**
 * A proxy to the test server that can be closed (refuses connections), frozen (forwards nothing), stalled (reads nothing, so
 * that what is sent to it is held by the sender) and reopened.
 *
 * @param freezesAt a command before which it freezes by itself
 */
export async function openProxy(database: string, freezesAt?: string) {
  const target = /^mongodb:\/\/(?:[^@/]*@)?([^:/,]+):(\d+)/.exec(serverUri());
  if (!target) throw new Error('The proxy needs a TEST_MONGODB_URI with host and port.');
  const [, host, port] = target;
  const sockets = new Set<Socket>();
  let frozen = false;
  let stalled = false;
  let server: Server;
  let ownPort = 0;

  function track(socket: Socket, peer: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      peer.destroy();
    });
    socket.on('data', (bytes: Buffer) => {
      if (freezesAt !== undefined && bytes.includes(freezesAt)) frozen = true;
      if (!frozen) peer.write(bytes);
    });
    if (stalled) socket.pause();
  }

  async function open(): Promise<void> {
    frozen = false;
    stalled = false;
    server = createServer((near) => {
      const far = connect(Number(port), host);
      track(near, far);
      track(far, near);
    });
    await new Promise<void>((resolve) => server.listen(ownPort, '127.0.0.1', resolve));
    ownPort = (server.address() as { port: number }).port;
  }

  async function close(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await open();
  return {
    uri: mongoUri(database)
      .replace(`${host}:${port}`, `127.0.0.1:${ownPort}`)
      .replace(/\?directConnection=true|$/, '?directConnection=true'),
    open,
    close,
    isFrozen: (): boolean => frozen,
    freeze(): void {
      frozen = true;
    },
    stall(): void {
      stalled = true;
      for (const socket of sockets) socket.pause();
    },
  };
}

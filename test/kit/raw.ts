import { connect, type Socket } from 'node:net';

/** A raw connection, for input that no HTTP client would send. */
export async function openRaw(url: string, options: { allowHalfOpen?: boolean } = {}): Promise<Socket> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), ...options });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  // The server may reset the connection once it has heard enough.
  socket.on('error', () => {});
  return socket;
}

/** Sends bytes on a new connection. @returns everything received until the server closes it */
export async function exchangeRaw(url: string, bytes: string | Buffer): Promise<string> {
  const socket = await openRaw(url);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  await closed;
  return answer;
}

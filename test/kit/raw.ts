import { connect, type Socket } from 'node:net';

/** A connection on which tests say what no HTTP client would. */
export async function openRaw(url: string, options: { allowHalfOpen?: boolean } = {}): Promise<Socket> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), ...options });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  // A server that has heard enough may reset it.
  socket.on('error', () => {});
  return socket;
}

/** Sends some bytes on a connection of their own. @returns what comes back until the server closes that */
export async function exchangeRaw(url: string, bytes: string): Promise<string> {
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

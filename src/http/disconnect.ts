import type { Exchange } from './exchange.ts';

/** Milliseconds until a client is asked again, twice as long each time. */
const [FIRST_PAUSE, MAX_PAUSE] = [5, 1_000];

/**
 * Finds out whether a client that sends no more is gone. One that has only closed its half of the connection still reads
 * (RFC 9293 section 3.6), and discards interim answers (RFC 9110 section 15.2). The system of one that has closed the
 * whole resets the connection on receiving one, which shows when the next one is sent; until something is written the two
 * look the same.
 */
export function detectDisconnect({ request, response }: Exchange): void {
  const { socket } = request;
  // HTTP/1.0 knows no interim answers.
  if (request.httpVersionMinor === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const ask = (pause: number) => {
    if (response.headersSent || !socket.writable) return;
    response.writeContinue();
    timer = setTimeout(ask, pause, Math.min(2 * pause, MAX_PAUSE));
  };
  const begin = () => ask(FIRST_PAUSE);
  if (socket.readableEnded) begin();
  else socket.once('end', begin);
  response.once('close', () => {
    socket.off('end', begin);
    clearTimeout(timer);
  });
}

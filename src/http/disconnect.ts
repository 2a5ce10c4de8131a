import type { RequestContext } from './request-context.ts';

/** Delay between two probes in milliseconds; doubles each time. */
const [FIRST_PAUSE, MAX_PAUSE] = [5, 1_000];

/**
 * Detects whether a client that has stopped sending has disconnected. A half-closed client still reads (RFC
 * 9293 section 3.6) and ignores interim responses (RFC 9110 section 15.2). A fully closed one resets the
 * connection when it receives one, which shows on the next write. Until something is written, the two look
 * alike.
 */
export function detectDisconnect({ request, response }: RequestContext): void {
  const { socket } = request;
  // HTTP/1.0 has no interim responses.
  if (request.httpVersionMinor === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const probe = (pause: number) => {
    if (response.headersSent || !socket.writable) return;
    response.writeContinue();
    timer = setTimeout(probe, pause, Math.min(2 * pause, MAX_PAUSE));
  };
  const begin = () => probe(FIRST_PAUSE);
  if (socket.readableEnded) begin();
  else socket.once('end', begin);
  response.once('close', () => {
    socket.off('end', begin);
    clearTimeout(timer);
  });
}

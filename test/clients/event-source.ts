import { EventSource } from 'eventsource';

interface CategoryEvent {
  id: string;
  type: string;
  time: string;
  data: { id: number; name?: string };
}

const TYPES = ['category.created', 'category.updated'];

/**
 * Follows the stream until it is closed. EventSource itself reconnects after a lost connection, but gives up at any
 * response that is no stream, as a proxy sends during a restart. Then it begins anew after the last event, once
 * Retry-After or a wait that doubles up to a minute has passed.
 *
 * @param onEnd receives the response that trying again doesn't change, such as 401
 * @returns a function that ends it
 */
export function followStream(
  url: string,
  key: string,
  onEvent: (event: CategoryEvent) => void,
  onEnd: (status: number) => void = () => {},
): () => void {
  let source: EventSource;
  let timer: NodeJS.Timeout;
  let last = '';
  let failures = 0;
  let retryAfter = 0;
  const open = () => {
    const query = new URLSearchParams([
      ...TYPES.map((type) => ['type', type]),
      ...(last ? [['after', last]] : []),
    ]);
    source = new EventSource(`${url}/events/stream?${query}`, {
      fetch: async (input, init) => {
        const response = await fetch(input, { ...init, headers: { ...init.headers, 'X-API-Key': key } });
        retryAfter = Number(response.headers.get('Retry-After'));
        return response;
      },
    });
    source.addEventListener('open', () => (failures = 0));
    for (const type of TYPES)
      source.addEventListener(type, ({ data, lastEventId }) => {
        last = lastEventId;
        onEvent(JSON.parse(data));
      });
    source.addEventListener('error', ({ code = 0 }) => {
      if (source.readyState !== source.CLOSED) return;
      if (code >= 400 && code < 500 && retryAfter === 0) return onEnd(code);
      const wait = retryAfter || Math.min(60, 2 ** failures++);
      timer = setTimeout(open, wait * 1000);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

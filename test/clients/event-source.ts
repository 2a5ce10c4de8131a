import { EventSource } from 'eventsource';

interface CategoryEvent {
  id: string;
  type: string;
  time: string;
  data: { id: number; name?: string };
}

/** Reconnects automatically and resumes after the last event received. */
export function followStream(url: string, key: string, onEvent: (event: CategoryEvent) => void): EventSource {
  const source = new EventSource(`${url}/events/stream?type=category.created&type=category.updated`, {
    fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, 'X-API-Key': key } }),
  });
  for (const type of ['category.created', 'category.updated'])
    source.addEventListener(type, ({ data }) => onEvent(JSON.parse(data)));
  return source;
}

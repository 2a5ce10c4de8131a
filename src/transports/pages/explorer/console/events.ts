import { messagesOf } from '../sse.ts';
import { counted } from '../words.ts';
import { reason, request } from './api.ts';
import { button, controls, h, moment, note } from './dom.ts';

/** How many events are shown. */
const SHOWN_EVENTS = 200;

interface Event {
  id: string;
  type: string;
  time: string;
}

/** Shows the events of `GET /events/stream` as they come, with filters and a stop button. */
export function showEvents(root: HTMLElement, isSignedIn: () => boolean): () => void {
  let aborter: AbortController | undefined;
  let received = 0;
  const status = h('span', { role: 'status' });
  const list = h('ol', { class: 'events', tabindex: 0, 'aria-label': 'Events, newest first' });
  const kind = h(
    'select',
    { 'aria-label': 'Type', onchange: filter },
    h('option', { value: '' }, 'All types'),
  );
  const search = h('input', {
    type: 'search',
    'aria-label': 'Contains',
    placeholder: 'Contains …',
    oninput: filter,
  });
  const toggle = button('Listen', () => (aborter ? stop() : listen()));
  root.replaceChildren(
    controls(toggle, kind, search, status),
    note('Listening costs 1 unit, and 1 for every 100 events.'),
    list,
  );

  function stop(): void {
    aborter?.abort();
    aborter = undefined;
    toggle.textContent = 'Listen';
    status.textContent = received > 0 ? `Stopped after ${counted(received, 'event')}.` : '';
  }

  async function listen(): Promise<void> {
    if (!isSignedIn()) {
      status.textContent = 'Enter an API key above first.';
      return;
    }
    const own = new AbortController();
    aborter = own;
    received = 0;
    toggle.textContent = 'Stop';
    status.textContent = 'Connecting …';
    try {
      const response = await request('GET', '/events/stream', {
        headers: { Accept: 'text/event-stream' },
        signal: own.signal,
      });
      status.textContent = 'Listening …';
      for await (const { event, data } of messagesOf(response)) {
        if (event === 'error') throw new Error(JSON.parse(data).message);
        if (data !== '') add(data);
      }
      if (aborter === own) stop();
    } catch (error) {
      if (own.signal.aborted) return;
      stop();
      status.textContent = error instanceof TypeError ? 'The connection was lost.' : reason(error);
    }
  }

  function add(data: string): void {
    const { type, time } = JSON.parse(data) as Event;
    received++;
    status.textContent = `Listening: ${counted(received, 'event')}`;
    if (![...kind.options].some(({ value }) => value === type))
      kind.append(h('option', { value: type }, type));
    const item = h(
      'li',
      { 'data-type': type },
      h('time', { datetime: time }, moment(time)),
      h('strong', {}, type),
      // As it was sent, so that no integer is rounded.
      h('code', {}, data),
    );
    list.prepend(item);
    list.children[SHOWN_EVENTS]?.remove();
    filter();
  }

  function filter(): void {
    const text = search.value.toLowerCase();
    for (const item of list.children as HTMLCollectionOf<HTMLElement>) {
      const isWanted = kind.value === '' || item.dataset.type === kind.value;
      item.hidden = !isWanted || !item.textContent!.toLowerCase().includes(text);
    }
  }

  return stop;
}

/** @jsxImportSource preact */
import { useEffect, useRef, useState } from 'preact/hooks';
import { messagesOf } from '../responses.ts';
import { counted } from '../../../../foundation/words.ts';
import { request } from './call.ts';
import { Button, moment, Note } from './widgets.tsx';

/** The number of events shown. */
const SHOWN_EVENTS = 200;

interface ShownEvent {
  type: string;
  time: string;
  /** As it was sent, so that no integer is rounded. */
  data: string;
}

/** The events of `GET /events/stream` as they come, with a filter and a stop button. */
export function Events() {
  const [events, setEvents] = useState<readonly ShownEvent[]>([]);
  const [status, setStatus] = useState('');
  const [text, setText] = useState('');
  const [isListening, setListening] = useState(false);
  const aborter = useRef<AbortController>(undefined);
  useEffect(() => () => aborter.current?.abort(), []);

  async function listen(): Promise<void> {
    const own = new AbortController();
    aborter.current = own;
    let received = 0;
    setListening(true);
    setStatus('Connecting …');
    try {
      const headers = { Accept: 'text/event-stream' };
      const response = await request('GET', '/events/stream', { headers, signal: own.signal });
      setStatus('Listening …');
      for await (const { event, data } of messagesOf(response)) {
        if (event === 'error') throw new Error(JSON.parse(data).message);
        if (data === '') continue;
        const shown = { ...(JSON.parse(data) as Omit<ShownEvent, 'data'>), data };
        setEvents((earlier) => [shown, ...earlier].slice(0, SHOWN_EVENTS));
        setStatus(`Listening: ${counted(++received, 'event')}`);
      }
      own.abort();
    } catch (error) {
      setStatus(error instanceof TypeError ? 'The connection was lost.' : (error as Error).message);
    }
    if (own.signal.aborted) setStatus(`Stopped after ${counted(received, 'event')}.`);
    setListening(false);
  }

  const shown = events.filter(({ data }) => data.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <p class="controls">
        <Button onClick={() => (isListening ? aborter.current?.abort() : listen())}>
          {isListening ? 'Stop' : 'Listen'}
        </Button>
        <input
          type="search"
          aria-label="Contains"
          placeholder="Contains: order.created …"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <span role="status">{status}</span>
      </p>
      <Note>Listening costs 1 unit, and 1 for every 100 events.</Note>
      {shown.length > 0 && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by the keyboard
        <ol class="events" tabIndex={0} aria-label="Events, newest first">
          {shown.map((event) => (
            <li key={event.data} class="row">
              <time dateTime={event.time}>{moment(event.time)}</time>
              <strong>{event.type}</strong>
              <code>{event.data}</code>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

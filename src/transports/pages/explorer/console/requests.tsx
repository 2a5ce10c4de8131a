/** @jsxImportSource preact */
import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../../../foundation/words.ts';
import { call } from './call.ts';
import { Button, Facts, moment, Note } from './widgets.tsx';

/** The interval at which the list is read while it is live, in milliseconds. */
const INTERVAL = 3_000;
const SHOWN_REQUESTS = 50;

/** An entry of `GET /requests`. */
interface LoggedRequest {
  id: string;
  time: string;
  transport: string;
  operation: string;
  method: string;
  path: string;
  status: number;
  code?: string;
  message?: string;
  units: number;
  ms: number;
  keyId: string;
}

/** Advice on an error, by its code or its status. */
const ADVICE: Record<string, string> = {
  VALIDATION_FAILED: 'Correct what the message names and send it again.',
  BAD_REQUEST: 'The request is malformed: look at its encoding, headers and JSON.',
  GRAPHQL_PARSE_FAILED: 'Correct the syntax of the document.',
  GRAPHQL_VALIDATION_FAILED: 'Compare the document with the schema in GraphiQL.',
  QUERY_TOO_COMPLEX: 'Ask for less at once: POST /graphql/cost tells the price of an operation.',
  API_KEY_BANNED: 'Stop sending until the ban ends, and heed Retry-After from then on.',
  FORBIDDEN: 'Use a key that permits it, or have this one changed.',
  RATE_LIMITED: 'Wait for Retry-After. Retrying earlier leads to a ban.',
  CONFLICT: 'Read the current state and decide again.',
  PRECONDITION_FAILED: 'Somebody else changed it: read it again and repeat with its new ETag.',
  UNKNOWN_REFERENCE: 'Create what the message names first, or refer to something else.',
  IDEMPOTENCY_KEY_REUSED: 'Use a new Idempotency-Key for each new request.',
  NOT_FOUND: 'Look at the id or path; a list shows those that exist.',
  UNAVAILABLE: 'Try again after Retry-After; nothing was written.',
  INTERNAL: 'Tell the operator this request id.',
};

/** The latest requests of the key and of those that it has made, with filters. A row expands to the message. */
export function Requests() {
  const [requests, setRequests] = useState<readonly LoggedRequest[]>();
  const [status, setStatus] = useState('');
  const [operation, setOperation] = useState('');
  const [notice, setNotice] = useState('');
  const [isLive, setLive] = useState(false);
  const latest = useRef(0);

  const load = async () => {
    const current = ++latest.current;
    const query = new URLSearchParams({ limit: String(SHOWN_REQUESTS) });
    if (status !== '') query.set('status', status);
    if (operation !== '') query.set('operation', operation);
    try {
      const loaded = await call<LoggedRequest[]>('GET', `/requests?${query}`);
      if (current !== latest.current) return;
      setRequests(loaded);
      setNotice(`${isLive ? 'Live: ' : ''}${counted(loaded.length, 'request')}.`);
    } catch (error) {
      if (current !== latest.current) return;
      setNotice((error as Error).message);
      setLive(false);
    }
  };
  useEffect(() => {
    void load();
    if (!isLive) return;
    const timer = setInterval(load, INTERVAL);
    return () => clearInterval(timer);
    // oxlint-disable-next-line react/exhaustive-deps -- those on which the answer depends
  }, [status, operation, isLive]);

  return (
    <>
      <p class="controls">
        <Button onClick={() => setLive(!isLive)}>{isLive ? 'Pause' : 'Follow'}</Button>
        <Button onClick={load}>Refresh</Button>
        <select aria-label="Status" onChange={({ currentTarget }) => setStatus(currentTarget.value)}>
          <option value="">all statuses</option>
          {['2xx', '3xx', '4xx', '5xx'].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <input
          type="search"
          aria-label="Operation"
          placeholder="Operation: createPet …"
          onChange={({ currentTarget }) => setOperation(currentTarget.value.trim())}
        />
        <span role="status">{notice}</span>
      </p>
      <Note>Each look costs 1 unit, while following every 3 seconds, and leaves no entry.</Note>
      {requests?.length === 0 && <Note>There are no such requests of the last 24 hours.</Note>}
      {requests && requests.length > 0 && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by the keyboard
        <ul class="requests" tabIndex={0} aria-label="Requests, newest first">
          {requests.map((each) => (
            <li key={each.id + each.time}>
              <RequestView request={each} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function RequestView({ request }: { request: LoggedRequest }) {
  const { id, time, transport, operation, method, path, status, code, message, units, ms, keyId } = request;
  const isFailure = code !== undefined || status >= 400;
  return (
    <details>
      <summary>
        <strong class={isFailure ? 'bad' : 'good'}>
          {status}
          {code !== undefined && ` ${code}`}
        </strong>{' '}
        {operation}{' '}
        <code>
          {method} {path}
        </code>{' '}
        <time dateTime={time}>{moment(time)}</time>
      </summary>
      <Facts
        entries={{
          'What it said': message,
          'What to do': isFailure && (ADVICE[code ?? ''] ?? 'The guide to errors tells more.'),
          'Sent over': transport,
          Cost: `${counted(units, 'unit')}, ${ms} ms`,
          'Request id': <code>{id}</code>,
          Key: <code>{keyId}</code>,
        }}
      />
    </details>
  );
}

/** @jsxImportSource preact */
import { useRef, useState } from 'preact/hooks';
import { call, reason } from '../api.ts';
import { Facts, moment, useLoaded } from './widgets.tsx';

interface Webhook {
  id: string;
  url: string;
  types?: string[];
  enabled: boolean;
  after: string;
  createdAt: string;
  failing?: { eventId: string; since: string; attempts: number; nextAttemptAt: string };
  disabledReason?: string;
  /** In the answers to creation and rotation alone. */
  secret?: string;
}

interface WebhookAttempt {
  eventId: string;
  time: string;
  ms: number;
  status?: number;
  error?: string;
}

const DISABLED: Record<string, string> = {
  failing: 'it failed for 72 hours',
  gone: 'the receiver answered 410',
  events_expired: 'events it had not received are no longer kept',
  key: 'its key has expired, was revoked or no longer permits it',
};

const pathOf = ({ id }: Webhook): string => `/webhooks/${encodeURIComponent(id)}`;

const outcome = ({ status, error }: WebhookAttempt): string =>
  error === undefined ? `was answered ${status}` : `failed: ${error.replaceAll('_', ' ')}`;

/** The key's webhooks with their state and last attempts, and all that can be done with them. */
export function Webhooks({ parameters }: { parameters: unknown[] }) {
  const { value, failure, reload } = useLoaded(() => call<Webhook[]>('GET', '/webhooks'), parameters);
  const [said, setSaid] = useState('');
  const [created, setCreated] = useState<Webhook>();
  const form = useRef<HTMLFormElement>(null);

  async function create(event: Event): Promise<void> {
    event.preventDefault();
    const given = new FormData(form.current!);
    const types = String(given.get('types'))
      .split(/[\s,]+/)
      .filter(Boolean);
    try {
      const body = { url: String(given.get('url')).trim(), ...(types.length > 0 && { types }) };
      setCreated(await call<Webhook>('POST', '/webhooks', body));
      setSaid('Created.');
      form.current!.reset();
      await reload();
    } catch (error) {
      setSaid(reason(error));
    }
  }

  return (
    <>
      {failure !== undefined && <p class="note">Webhooks are not shown. {failure}</p>}
      {value && (
        <form ref={form} class="controls" onSubmit={(event) => void create(event)}>
          <input
            name="url"
            type="url"
            required
            size={36}
            aria-label="URL"
            placeholder="https://example.com/hook"
          />
          <input
            name="types"
            size={24}
            aria-label="Event types"
            placeholder="all types, or order.created …"
          />
          <button type="submit">Create</button>
          <button type="button" onClick={reload}>
            Refresh
          </button>
          <span role="status">{said}</span>
        </form>
      )}
      {value?.length === 0 && <p class="note">This key has no webhooks.</p>}
      {value?.map((webhook) => (
        <WebhookView
          key={webhook.id}
          webhook={webhook}
          secret={created?.id === webhook.id ? created.secret : undefined}
          reload={reload}
        />
      ))}
    </>
  );
}

interface Props {
  webhook: Webhook;
  /** If it was just created. */
  secret: string | undefined;
  reload: () => Promise<void>;
}

function WebhookView({ webhook, secret: first, reload }: Props) {
  const { enabled, failing, disabledReason, after } = webhook;
  const path = pathOf(webhook);
  const [said, setSaid] = useState('');
  const [secret, setSecret] = useState(first);
  const [attempts, setAttempts] = useState<WebhookAttempt[]>();
  const [isDeleting, setDeleting] = useState(false);
  const position = useRef<HTMLInputElement>(null);

  /** Runs an action and says how it went. */
  const act = (action: () => Promise<string>) => async () => {
    try {
      setSaid(await action());
      await reload();
    } catch (error) {
      setSaid(reason(error));
    }
  };
  const change = (patch: () => object, text: string) =>
    act(async () => {
      await call('PATCH', path, patch());
      return text;
    });
  const loadAttempts = async () => setAttempts(await call<WebhookAttempt[]>('GET', `${path}/attempts`));
  const test = act(async () => {
    const attempt = await call<WebhookAttempt>('POST', `${path}/test`);
    await loadAttempts();
    return `The test ${outcome(attempt)} after ${attempt.ms} ms.`;
  });
  const rotate = act(async () => {
    setSecret((await call<Webhook>('POST', `${path}/rotate`, {})).secret);
    return 'Rotated: the earlier secret signs too for 24 hours.';
  });
  const remove = act(async () => {
    await call('DELETE', path);
    return 'Deleted.';
  });
  const state = !enabled
    ? `Paused${disabledReason ? `: ${DISABLED[disabledReason] ?? disabledReason}` : ''}`
    : failing
      ? `Failing since ${moment(failing.since)}, ${failing.attempts} attempts, next ${moment(failing.nextAttemptAt)}`
      : 'Delivering';
  const button = (label: string, onClick: () => unknown) => (
    <button type="button" onClick={onClick}>
      {label}
    </button>
  );
  return (
    <article class="webhook">
      <h3>{webhook.url}</h3>
      <Facts
        entries={
          [
            [
              'State',
              <strong key="state" class={enabled && !failing ? 'good' : 'bad'}>
                {state}
              </strong>,
            ],
            ['Types', webhook.types?.join(', ') ?? 'all'],
            ['Received up to', <code key="after">{after}</code>],
            ['Created', moment(webhook.createdAt)],
            ['Secret, shown once', secret !== undefined && <code key="secret">{secret}</code>],
          ].filter(([, value]) => value !== false) as never
        }
      />
      <p class="controls">
        {button('Test', test)}
        {enabled
          ? button(
              'Pause',
              change(() => ({ enabled: false }), 'Paused; its position is kept.'),
            )
          : button(
              'Resume',
              change(() => ({ enabled: true }), 'Resumed.'),
            )}
        {button('Rotate secret', rotate)}
        {isDeleting ? button('Delete it for good', remove) : button('Delete', () => setDeleting(true))}
        {button(
          'Last attempts',
          act(async () => loadAttempts().then(() => '')),
        )}
        <input ref={position} key={after} aria-label="Replay after event" defaultValue={after} size={24} />
        {button(
          'Replay',
          change(() => ({ after: position.current!.value }), 'Replaying from there.'),
        )}
      </p>
      <p role="status">{said}</p>
      {attempts?.length === 0 && <p class="note">There have been no attempts.</p>}
      {attempts && attempts.length > 0 && <Attempts url={webhook.url} attempts={attempts} />}
    </article>
  );
}

const Attempts = ({ url, attempts }: { url: string; attempts: readonly WebhookAttempt[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard
  <section class="table" tabIndex={0} aria-label={`Last attempts to ${url}`}>
    <table>
      <thead>
        <tr>
          {['Time', 'Event', 'Outcome', 'Duration'].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {attempts.map((attempt) => (
          <tr key={attempt.time + attempt.eventId}>
            <td>{moment(attempt.time)}</td>
            <td>{attempt.eventId}</td>
            <td>{outcome(attempt)}</td>
            <td>{attempt.ms} ms</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

/** @jsxImportSource preact */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from './call.ts';
import { Button, Facts, moment, Note, Secret, useAction, useLoaded } from './widgets.tsx';

/** The webhooks whose attempts are shown without being asked for, since each costs a unit. */
const SHOWN_AT_ONCE = 5;

interface Webhook {
  id: string;
  url: string;
  types?: string[];
  enabled: boolean;
  after: string;
  createdAt: string;
  failing?: { eventId: string; since: string; attempts: number; nextAttemptAt: string };
  disabledReason?: string;
  /** Only in the responses to creation and rotation. */
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

const outcome = ({ status, error }: WebhookAttempt): string =>
  error === undefined ? `was answered ${status}` : `failed: ${error.replaceAll('_', ' ')}`;

/** The key's webhooks with their state, last attempts and all actions on them. */
export function Webhooks() {
  const { value, failure, reload } = useLoaded<Webhook[]>('/webhooks');
  const [status, act] = useAction(reload);
  const [created, setCreated] = useState<Webhook>();

  const create = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const fields = new FormData(form);
    const types = String(fields.get('types'))
      .split(/[\s,]+/)
      .filter(Boolean);
    const body = { url: String(fields.get('url')).trim(), ...(types.length > 0 && { types }) };
    void act(async () => {
      setCreated(await call<Webhook>('POST', '/webhooks', body));
      form.reset();
    }, 'Created.');
  };
  const url = { size: 36, 'aria-label': 'URL', placeholder: 'https://example.com/hook' };
  const types = { size: 24, 'aria-label': 'Event types', placeholder: 'all types, or order.created …' };
  return (
    <>
      {failure !== undefined && <Note>Webhooks are not shown. {failure}</Note>}
      {value && (
        <form class="controls" onSubmit={create}>
          <input name="url" type="url" required {...url} />
          <input name="types" {...types} />
          <button type="submit">Create</button>
          <Button onClick={reload}>Refresh</Button>
          <span role="status">{status}</span>
        </form>
      )}
      {value?.length === 0 && <Note>This key has no webhooks.</Note>}
      {value?.map((each) => (
        <WebhookView
          key={each.id}
          webhook={created?.id === each.id ? { ...created, ...each } : each}
          showsAttempts={value.length <= SHOWN_AT_ONCE}
          reload={reload}
        />
      ))}
    </>
  );
}

interface WebhookProps {
  /** With its secret if it was just created. */
  webhook: Webhook;
  /** True if its attempts are shown without being asked for. */
  showsAttempts: boolean;
  reload: () => Promise<void>;
}

function WebhookView({ webhook, showsAttempts, reload }: WebhookProps) {
  const { url, enabled, failing, disabledReason, after, types, createdAt } = webhook;
  const path = `/webhooks/${encodeURIComponent(webhook.id)}`;
  const [status, act] = useAction(reload);
  const [secret, setSecret] = useState(webhook.secret);
  const [attempts, setAttempts] = useState<WebhookAttempt[]>();
  const [isDeleting, setDeleting] = useState(false);
  const position = useRef<HTMLInputElement>(null);

  const change = (patch: object, text: string) => act(() => call('PATCH', path, patch), text);
  const showAttempts = async () => setAttempts(await call<WebhookAttempt[]>('GET', `${path}/attempts`));
  useEffect(() => {
    // Without them, the rest is shown all the same.
    if (showsAttempts) showAttempts().catch(() => {});
    // oxlint-disable-next-line react/exhaustive-deps -- a delivery moves the position
  }, [after]);
  const rotate = async () => setSecret((await call<Webhook>('POST', `${path}/rotate`, {})).secret);
  const test = async () => {
    const attempt = await call<WebhookAttempt>('POST', `${path}/test`);
    await showAttempts();
    return `The test ${outcome(attempt)} after ${attempt.ms} ms.`;
  };
  const pause = () => change({ enabled: !enabled }, enabled ? 'Paused; its position is kept.' : 'Resumed.');
  const hasDelivered = attempts?.some(({ eventId }) => !eventId.startsWith('test_')) ?? true;
  let state = hasDelivered ? 'Delivering' : 'Waiting for the first event';
  if (!enabled) state = `Paused${disabledReason ? `: ${DISABLED[disabledReason] ?? disabledReason}` : ''}`;
  else if (failing)
    state = `Failing since ${moment(failing.since)}, ${failing.attempts} attempts, next ${moment(failing.nextAttemptAt)}`;
  return (
    <article class="entry">
      <h3>{url}</h3>
      <Facts
        entries={{
          State: <strong class={enabled && !failing ? 'good' : 'bad'}>{state}</strong>,
          Types: types?.join(', ') ?? 'all',
          'Received up to': <code>{after}</code>,
          Created: moment(createdAt),
        }}
      />
      {secret !== undefined && <Secret secret={secret} />}
      <p class="controls">
        <Button onClick={() => act(test)}>Test</Button>
        <Button onClick={pause}>{enabled ? 'Pause' : 'Resume'}</Button>
        <Button onClick={() => act(rotate, 'Rotated: the earlier secret signs too for 24 hours.')}>
          Rotate secret
        </Button>
        <Button
          onClick={() => (isDeleting ? act(() => call('DELETE', path), 'Deleted.') : setDeleting(true))}
        >
          {isDeleting ? 'Delete it for good' : 'Delete'}
        </Button>
        <Button onClick={() => act(showAttempts, '')}>Last attempts</Button>
        <input ref={position} key={after} aria-label="Replay after event" defaultValue={after} size={24} />
        <Button onClick={() => change({ after: position.current!.value }, 'Replaying from there.')}>
          Replay
        </Button>
      </p>
      <p role="status">{status}</p>
      {attempts?.length === 0 && <Note>There have been no attempts.</Note>}
      {attempts && attempts.length > 0 && (
        <ul aria-label={`Last attempts to ${url}`}>
          {attempts.map((attempt) => (
            <li key={attempt.time + attempt.eventId}>
              {moment(attempt.time)}: <code>{attempt.eventId}</code> {outcome(attempt)} after {attempt.ms} ms
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

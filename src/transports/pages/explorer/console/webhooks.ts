import { call, fill, reason } from './api.ts';
import { button, type Content, controls, facts, h, moment, note, table } from './dom.ts';

interface Webhook {
  id: string;
  url: string;
  types?: string[];
  enabled: boolean;
  after: string;
  createdAt: string;
  failing?: { eventId: string; since: string; attempts: number; nextAttemptAt: string };
  disabledReason?: string;
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
  key: 'its key was revoked or has expired',
};

/** Shows the key's webhooks with their state and last attempts; they can be tested, paused and replayed. */
export function showWebhooks(root: HTMLElement): void {
  const place = h('div');
  root.replaceChildren(controls(button('Refresh', () => load())), place);

  const load = () =>
    fill(place, 'Webhooks are not shown.', async () => {
      const webhooks = await call<Webhook[]>('GET', '/webhooks');
      return webhooks.length > 0
        ? webhooks.map(show)
        : [note('This key has no webhooks. POST /webhooks creates one.')];
    });
  void load();
}

function show(webhook: Webhook): HTMLElement {
  const element = h('article', { class: 'webhook' });
  const path = `/webhooks/${encodeURIComponent(webhook.id)}`;
  const said = h('p', { role: 'status' });
  const attempts = h('div');

  /** Runs an action, says how it went, and shows the webhook anew. */
  const act = async (action: () => Promise<string>) => {
    try {
      said.textContent = await action();
      render(await call<Webhook>('GET', path));
    } catch (error) {
      said.textContent = reason(error);
    }
  };
  const test = () =>
    act(async () => {
      const attempt = await call<WebhookAttempt>('POST', `${path}/test`);
      await loadAttempts();
      return `The test ${outcome(attempt)} after ${attempt.ms} ms.`;
    });
  const change = (patch: object, text: string) =>
    act(async () => {
      await call('PATCH', path, patch);
      return text;
    });
  const loadAttempts = () =>
    fill(attempts, '', async () => {
      const last = await call<WebhookAttempt[]>('GET', `${path}/attempts`);
      const rows = last.map((attempt): Content[] => [
        moment(attempt.time),
        attempt.eventId,
        outcome(attempt),
        `${attempt.ms} ms`,
      ]);
      return [
        rows.length > 0
          ? table(`Last attempts to ${webhook.url}`, ['Time', 'Event', 'Outcome', 'Duration'], rows)
          : note('There have been no attempts.'),
      ];
    });

  function render(current: Webhook): void {
    const { enabled, failing, disabledReason } = current;
    const state = !enabled
      ? `Paused${disabledReason ? `: ${DISABLED[disabledReason] ?? disabledReason}` : ''}`
      : failing
        ? `Failing since ${moment(failing.since)}, ${failing.attempts} attempts, next ${moment(failing.nextAttemptAt)}`
        : 'Delivering';
    const place = h('input', { 'aria-label': 'Replay after event', value: current.after, size: 24 });
    element.replaceChildren(
      h('h3', {}, current.url),
      facts([
        ['State', h('strong', { class: enabled && !failing ? 'good' : 'bad' }, state)],
        ['Types', current.types?.join(', ') ?? 'all'],
        ['Received up to', h('code', {}, current.after)],
        ['Created', moment(current.createdAt)],
      ]),
      controls(
        button('Test', test),
        enabled
          ? button('Pause', () => change({ enabled: false }, 'Paused; its place is kept.'))
          : button('Resume', () => change({ enabled: true }, 'Resumed.')),
        place,
        button('Replay', () => change({ after: place.value }, 'Replaying from there.')),
        button('Last attempts', loadAttempts),
      ),
      said,
      attempts,
    );
  }
  render(webhook);
  return element;
}

const outcome = ({ status, error }: WebhookAttempt): string =>
  error === undefined ? `was answered ${status}` : `failed: ${error.replaceAll('_', ' ')}`;

import '../pages.css';
import '../widgets.css';
import './console.css';
import { element } from '../element.ts';
import { initHeader } from '../header.ts';
import { apiKey } from '../key.ts';
import { type Budget, secondsUntilLeft } from '../server.ts';
import { counted, number } from '../words.ts';
import { call, fill } from './api.ts';
import { BudgetGauges } from './charts.ts';
import { facts, h, moment } from './dom.ts';
import { showEvents } from './events.ts';
import { showUsage } from './usage.ts';
import { showWebhooks } from './webhooks.ts';

/** `GET /key`. */
interface KeyFacts {
  id: string;
  name: string;
  plan: string;
  scopes?: string[];
  createdAt: string;
  lastUsedAt?: string;
  expiresAt?: string;
  allow?: string[];
  documents?: string;
}

/** How often the budget is checked, in milliseconds. Checking is free. */
const BUDGET_INTERVAL = 5_000;

/** The key whose data the page shows. */
let shown: string | undefined;
/** Whether its budget was used up when it was to be shown, so that it is shown later. */
let isWaiting = false;
const stopEvents = showEvents(element('events'), () => apiKey.state.kind === 'accepted');
const gauges = new BudgetGauges();
const standing = h('p', { role: 'status' });
element('budget').append(...gauges.elements, standing);

apiKey.subscribe(update);
setInterval(() => {
  if (apiKey.value !== '' && !document.hidden) void apiKey.check();
}, BUDGET_INTERVAL);
setInterval(update, 1_000);
initHeader();

function update(): void {
  const { state } = apiKey;
  if (state.kind === 'checking') return;
  const isKnown = state.kind === 'accepted' || (state.kind === 'refused' && state.bannedUntil !== undefined);
  element('sections').hidden = !isKnown;
  element('hint').hidden = isKnown;
  if (state.kind === 'accepted') showBudget(state.budget);
  if (state.kind === 'refused' && state.bannedUntil !== undefined) {
    const seconds = Math.max(0, Math.ceil((state.bannedUntil - Date.now()) / 1000));
    standing.textContent = `Banned for ${number(seconds)} s more: 20 retries came before Retry-After had passed.`;
    standing.className = 'bad';
  }
  if (!isKnown) {
    shown = undefined;
    stopEvents();
    return;
  }
  if (state.kind !== 'accepted') return;
  const isEmpty = secondsUntilLeft(state.budget, Date.now()) > 0;
  if (shown !== apiKey.value || (isWaiting && !isEmpty)) {
    if (shown !== apiKey.value) stopEvents();
    shown = apiKey.value;
    isWaiting = isEmpty;
    void showKey(element('key-facts'));
    showUsage(element('usage'));
    showWebhooks(element('webhooks'));
  }
}

function showBudget(budget: Budget): void {
  gauges.set(budget);
  const isEmpty = secondsUntilLeft(budget, Date.now()) > 0;
  const { refusalsUntilBan = 0 } = budget;
  const ban = `A ban is ${counted(refusalsUntilBan, 'refusal')} away: those in 10 minutes count that come before Retry-After has passed.`;
  standing.textContent = isEmpty ? `Nothing is left. ${ban}` : ban;
  standing.className = isEmpty ? 'bad' : 'note';
}

const showKey = (root: HTMLElement) =>
  fill(root, 'The key is not shown.', async () => {
    const key = await call<KeyFacts>('GET', '/key');
    return [
      facts([
        ['Name', key.name],
        ['Plan', key.plan],
        ['Id', h('code', {}, key.id)],
        ['Scopes', key.scopes?.join(', ') ?? 'all'],
        ['Created', moment(key.createdAt)],
        ['Last used', key.lastUsedAt && moment(key.lastUsedAt)],
        ['Expires', key.expiresAt ? moment(key.expiresAt) : 'never'],
        ['Addresses', key.allow?.join(', ') ?? 'any'],
        ['Documents', key.documents ?? 'any'],
      ]),
    ];
  });

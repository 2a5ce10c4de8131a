/** @jsxImportSource preact */
import '../header.ts';
import '../widgets.css';
import './console.css';
import { render } from 'preact';
import { element } from '../browser.ts';
import { apiKey } from '../key.ts';
import type { Budget } from '../server.ts';
import { grouped } from '../../../../foundation/words.ts';
import { duration } from '../words.ts';
import { secondsUntilBudget } from './api.ts';
import { Events } from './events.tsx';
import { Keys, OwnKey } from './keys.tsx';
import { Requests } from './requests.tsx';
import { Usage } from './usage.tsx';
import { Webhooks } from './webhooks.tsx';
import { Section } from './widgets.tsx';

function Console() {
  const { state } = apiKey;
  const banned = state.kind === 'refused' && state.bannedUntil && (state.bannedUntil - Date.now()) / 1_000;
  element('hint').hidden = state.kind === 'accepted' || Boolean(banned);
  if (banned)
    return (
      <Section title="Budget">
        <p role="status" class="bad">
          Banned for {duration(banned)} more: too many retries came before <code>Retry-After</code> had
          passed.
        </p>
      </Section>
    );
  if (state.kind !== 'accepted') return null;
  const isEmpty = secondsUntilBudget() > 0;
  return (
    <>
      <Section title="Key">
        <OwnKey key={apiKey.value} />
      </Section>
      <Section title="Budget">
        <Gauges budget={state.budget} />
        <p role="status" class={isEmpty ? 'bad' : 'note'}>
          {isEmpty && 'Nothing is left. '}Retrying before <code>Retry-After</code> has passed leads to a ban.
        </p>
      </Section>
      <Section title="Requests" wide>
        <Requests key={apiKey.value} />
      </Section>
      <Section title="Usage" wide>
        <Usage />
      </Section>
      <Section title="Live events" wide>
        <Events key={apiKey.value} />
      </Section>
      <Section title="Keys" wide>
        <Keys key={apiKey.value} />
      </Section>
      <Section title="Webhooks" wide>
        <Webhooks key={apiKey.value} />
      </Section>
    </>
  );
}

/** The remainder of both windows. */
function Gauges({ budget }: { budget: Budget }) {
  return (['minute', 'day'] as const).map((name) => {
    const { remaining, limit, resetAt } = budget[name];
    const share = limit === 0 ? 0 : remaining / limit;
    const left = `${grouped(remaining)} of ${grouped(limit)} left`;
    const label = name === 'minute' ? 'This minute' : 'Today';
    return (
      <div key={name} class="gauge row">
        <span class="label">{label}</span>
        <span class="detail">
          {left}
          {remaining < limit && `, full again in ${duration((resetAt - Date.now()) / 1_000)}`}
        </span>
        <div
          class="track"
          role="meter"
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={limit}
          aria-valuenow={remaining}
          aria-valuetext={left}
        >
          <div class={share < 0.1 ? 'bar low' : 'bar'} style={{ '--share': share }} />
        </div>
      </div>
    );
  });
}

apiKey.subscribe(() => render(<Console />, element('sections')));

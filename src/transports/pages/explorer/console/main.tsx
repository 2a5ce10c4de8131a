/** @jsxImportSource preact */
import '../header.ts';
import '../widgets.css';
import './console.css';
import { type ComponentChildren, render } from 'preact';
import { impliedScopes, permits } from '../../../../access/scopes.ts';
import { element } from '../browser.ts';
import { apiKey } from '../key.ts';
import { type Budget, duration } from '../responses.ts';
import { grouped } from '../../../../foundation/words.ts';
import { secondsUntilBudget } from './call.ts';
import { Events } from './events.tsx';
import { type KeyFacts, Keys, OwnKey } from './keys.tsx';
import { Requests } from './requests.tsx';
import { Usage } from './usage.tsx';
import { Webhooks } from './webhooks.tsx';
import { Note, Section, useLoaded } from './widgets.tsx';

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
  return state.kind === 'accepted' ? <Account key={apiKey.value} budget={state.budget} /> : null;
}

/** All that the key may see. What it lacks the scope for is not asked for. */
function Account({ budget }: { budget: Budget }) {
  const loaded = useLoaded<KeyFacts>('/key');
  const { value: key, failure } = loaded;
  const permitted = (name: string, scope: string, content: ComponentChildren) => {
    if (!key && failure === undefined) return null;
    const isPermitted = !key?.scopes || permits({ scopes: impliedScopes(key.scopes) }, scope);
    return isPermitted ? (
      content
    ) : (
      <Note>{`${name} are not shown. The API key lacks the scope ${scope}.`}</Note>
    );
  };
  const isEmpty = secondsUntilBudget() > 0;
  return (
    <>
      <Section title="Key">
        <OwnKey loaded={loaded} />
      </Section>
      <Section title="Budget">
        <Gauges budget={budget} />
        <p role="status" class={isEmpty ? 'bad' : 'note'}>
          {isEmpty && 'Nothing is left. '}Retrying before <code>Retry-After</code> has passed leads to a ban.
        </p>
      </Section>
      <Section title="Requests" wide>
        {permitted('Requests', 'requests:read', <Requests />)}
      </Section>
      <Section title="Usage" wide>
        <Usage />
      </Section>
      <Section title="Live events" wide>
        {permitted('Events', 'events:read', <Events />)}
      </Section>
      <Section title="Keys" wide>
        {permitted('Keys', 'keys:write', <Keys />)}
      </Section>
      <Section title="Webhooks" wide>
        {permitted('Webhooks', 'webhooks:read', <Webhooks />)}
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

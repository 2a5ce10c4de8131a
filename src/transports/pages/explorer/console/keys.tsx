/** @jsxImportSource preact */
import { useState } from 'preact/hooks';
import { call } from './call.ts';
import { Button, Facts, type Loaded, moment, Note, Secret, useAction, useLoaded } from './widgets.tsx';

/** `GET /key`, and an entry of `GET /keys`. */
export interface KeyFacts {
  id: string;
  name: string;
  plan: string;
  scopes?: string[];
  createdAt: string;
  lastUsedAt?: string;
  expiresAt?: string;
  allow?: string[];
  documents?: string;
  /** Only in the responses to creation and rotation. */
  key?: string;
}

const entriesOf = (key: KeyFacts) => ({
  Id: <code>{key.id}</code>,
  Scopes: key.scopes?.join(', ') ?? 'all',
  Created: moment(key.createdAt),
  'Last used': key.lastUsedAt && moment(key.lastUsedAt),
  Expires: key.expiresAt ? moment(key.expiresAt) : 'never',
  Addresses: key.allow?.join(', ') ?? 'any',
  Documents: key.documents ?? 'any',
});

const wordsOf = (text: unknown): string[] =>
  String(text)
    .split(/[\s,]+/)
    .filter(Boolean);

/** The fields of a form as a body. Fields left empty take their defaults, or are removed from an existing key. */
function bodyOf(form: HTMLFormElement, empty?: null): Record<string, unknown> {
  const fields = new FormData(form);
  const scopes = wordsOf(fields.get('scopes'));
  const allow = wordsOf(fields.get('allow'));
  const expires = String(fields.get('expires'));
  return {
    name: fields.get('name'),
    scopes: scopes.length > 0 ? scopes : empty,
    allow: allow.length > 0 ? allow : empty,
    documents: String(fields.get('documents')).trim() || empty,
    expiresAt: expires === '' ? empty : new Date(expires).toISOString(),
  };
}

/** A moment in the format of a date-time field, in the reader's own time zone. */
const local = (time: string): string =>
  new Date(Date.parse(time) - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

function Fields({ of }: { of?: KeyFacts }) {
  const scopes = { 'aria-label': 'Scopes', placeholder: 'all scopes, or pets:read …', size: 24 };
  const allow = { 'aria-label': 'Networks', placeholder: 'any, or 203.0.113.0/24', size: 24 };
  const documents = { 'aria-label': 'Documents', placeholder: 'any documents, or a list', size: 24 };
  return (
    <>
      <input name="name" required aria-label="Name" placeholder="Name: Till 7 …" defaultValue={of?.name} />
      <input name="scopes" {...scopes} defaultValue={of?.scopes?.join(' ')} />
      <input name="allow" {...allow} defaultValue={of?.allow?.join(' ')} />
      <input name="documents" {...documents} defaultValue={of?.documents} />
      <label>
        Expires{' '}
        <input name="expires" type="datetime-local" defaultValue={of?.expiresAt && local(of.expiresAt)} />
      </label>
    </>
  );
}

/** The key of the page, which may always rotate itself. */
export function OwnKey({ loaded }: { loaded: Loaded<KeyFacts> }) {
  const { value: key, failure, reload } = loaded;
  const [status, act] = useAction(reload);
  const [secret, setSecret] = useState<string>();
  const [isRotating, setRotating] = useState(false);
  const rotate = async () => {
    setRotating(false);
    setSecret((await call<KeyFacts>('POST', '/key/rotate', {})).key);
  };
  if (failure !== undefined) return <Note>The key is not shown. {failure}</Note>;
  if (!key) return null;
  return (
    <>
      <Facts entries={{ Name: key.name, Plan: key.plan, ...entriesOf(key) }} />
      {secret !== undefined && <Secret secret={secret} />}
      <p class="controls">
        <Button
          onClick={() =>
            isRotating ? act(rotate, 'Rotated: this one works for 24 hours more.') : setRotating(true)
          }
        >
          {isRotating ? 'Replace this key within 24 hours' : 'Rotate'}
        </Button>
        <span role="status">{status}</span>
      </p>
    </>
  );
}

/** The keys that this one has made, with all actions on them. */
export function Keys() {
  const { value, failure, reload } = useLoaded<KeyFacts[]>('/keys');
  const [status, act] = useAction(reload);
  const [created, setCreated] = useState<KeyFacts>();
  const create = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    void act(async () => {
      setCreated(await call<KeyFacts>('POST', '/keys', bodyOf(form)));
      form.reset();
    }, 'Created.');
  };
  if (failure !== undefined) return <Note>Keys are not shown. {failure}</Note>;
  return (
    <>
      <Note>Keys that this one makes draw on its budget, can do no more, and end with it.</Note>
      <form class="controls" onSubmit={create}>
        <Fields />
        <button type="submit">Create</button>
        <span role="status">{status}</span>
      </form>
      {value?.length === 0 && <Note>This key has made no keys.</Note>}
      {value?.map((each) => (
        <KeyView
          key={each.id}
          facts={created?.id === each.id ? { ...created, ...each } : each}
          reload={reload}
        />
      ))}
    </>
  );
}

/** @param facts with the secret if it was just created */
function KeyView({ facts, reload }: { facts: KeyFacts; reload: () => Promise<void> }) {
  const path = `/keys/${encodeURIComponent(facts.id)}`;
  const [status, act] = useAction(reload);
  const [secret, setSecret] = useState(facts.key);
  const [isNarrowing, setNarrowing] = useState(false);
  const [isRevoking, setRevoking] = useState(false);
  const rotate = async () => setSecret((await call<KeyFacts>('POST', `${path}/rotate`, {})).key);
  const narrow = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    void act(async () => {
      await call('PATCH', path, bodyOf(form, null));
      setNarrowing(false);
    }, 'Changed: in force everywhere within 5 seconds.');
  };
  return (
    <article class="key">
      <h3>{facts.name}</h3>
      <Facts entries={entriesOf(facts)} />
      {secret !== undefined && <Secret secret={secret} />}
      {isNarrowing && (
        <form class="controls" onSubmit={narrow}>
          <Fields of={facts} />
          <button type="submit">Save</button>
        </form>
      )}
      <p class="controls">
        <Button onClick={() => setNarrowing(!isNarrowing)}>{isNarrowing ? 'Cancel' : 'Change'}</Button>
        <Button onClick={() => act(rotate, 'Rotated: the earlier secret works too for 24 hours.')}>
          Rotate
        </Button>
        <Button
          onClick={() => (isRevoking ? act(() => call('DELETE', path), 'Revoked.') : setRevoking(true))}
        >
          {isRevoking ? 'Revoke it for good' : 'Revoke'}
        </Button>
      </p>
      <p role="status">{status}</p>
    </article>
  );
}

/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copyBy } from '../browser.ts';
import { apiKey } from '../key.ts';
import { call, secondsUntilBudget } from './call.ts';

/** The answer to a GET with the page's key, as {@link useLoaded} has it. */
export interface Loaded<T> {
  value?: T;
  failure?: string;
  reload(): Promise<void>;
}

/**
 * The answer to a GET with the page's key, or the reason in words why there is none; and a function that asks again. A
 * request that the budget couldn't pay for is repeated once there is budget again.
 *
 * @param when asks again when this changes
 */
export function useLoaded<T>(path: string, when?: unknown): Loaded<T> {
  const [loaded, setLoaded] = useState<{ value?: T; failure?: string }>({});
  const calls = useRef(0);
  const reload = async () => {
    const current = ++calls.current;
    const next = await call<T>('GET', path).then(
      (value) => ({ value }),
      ({ message }: Error) => ({ failure: message }),
    );
    if (current === calls.current) setLoaded(next);
  };
  // oxlint-disable-next-line react/exhaustive-deps -- those on which the answer depends
  useEffect(() => void reload(), [path, when, apiKey.value, secondsUntilBudget() > 0]);
  return { ...loaded, reload };
}

/**
 * A function that runs an action, reloads what it changed, and only then shows the outcome, by default its result. So
 * readers of the outcome see, and may edit, the current state.
 */
export function useAction(reload: () => Promise<void>) {
  const [status, setStatus] = useState('');
  const act = async (action: () => Promise<unknown>, text?: string) => {
    try {
      const returned = await action();
      await reload();
      setStatus(text ?? String(returned));
    } catch (error) {
      setStatus((error as Error).message);
    }
  };
  return [status, act] as const;
}

type Parent<Props = object> = Props & { children: ComponentChildren };

export const Section = ({ title, wide = false, children }: Parent<{ title: string; wide?: boolean }>) => (
  <section class={wide ? 'card wide' : 'card'} aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);

export const Note = ({ children }: Parent) => <p class="note">{children}</p>;

export const Button = ({ onClick, children }: Parent<{ onClick: () => unknown }>) => (
  <button type="button" onClick={onClick}>
    {children}
  </button>
);

/** A definition list of the entries that have a value. */
export const Facts = ({ entries }: { entries: Record<string, ComponentChildren> }) => (
  <dl>
    {Object.entries(entries)
      .filter(([, value]) => value)
      .map(([term, value]) => [<dt key={term}>{term}</dt>, <dd key={`${term}:`}>{value}</dd>])}
  </dl>
);

/** A secret, which is shown once. */
export const Secret = ({ secret }: { secret: string }) => (
  <p class="controls secret">
    <strong>Copy it now, it is shown once:</strong> <code>{secret}</code>
    <button type="button" onClick={({ currentTarget }) => copyBy(currentTarget, secret)}>
      Copy
    </button>
  </p>
);

/** A bar of a chart, with its numbers as text. */
export interface Bar {
  label: ComponentChildren;
  value: number;
  /** Drawn after the bar in another colour. */
  second: number;
  detail: string;
}

interface ChartProps {
  caption: string;
  bars: readonly Bar[];
}

/** A chart whose bars are rows. */
export function Chart({ caption, bars }: ChartProps) {
  const highest = Math.max(1, ...bars.map(({ value, second }) => value + second));
  return (
    <div class="rows">
      <h3>{caption}</h3>
      <ul>
        {bars.map(({ label, value, second, detail }, i) => (
          // oxlint-disable-next-line react/no-array-index-key -- bars have no state
          <li key={i} class="row">
            <span class="label">{label}</span>
            <div class="track">
              <div class="bar" style={{ '--share': value / highest }} />
              <div class="bar second" style={{ '--share': second / highest }} />
            </div>
            <span class="detail">{detail}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A moment in the reader's own time zone. */
export const moment = (time: string): string =>
  new Date(time).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'medium' });

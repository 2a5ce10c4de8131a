/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { reason } from '../api.ts';
import { apiKey, type KeyState } from '../key.ts';

/** The state of the page's key, and again each second, since what is left depends on the time. */
export function useKeyState(): KeyState {
  const [, render] = useState({});
  useEffect(() => {
    const again = () => render({});
    const timer = setInterval(again, 1_000);
    const unsubscribe = apiKey.subscribe(again);
    return () => {
      clearInterval(timer);
      unsubscribe();
    };
  }, []);
  return apiKey.state;
}

/** What a call gives, or in words why it failed; and a function that calls again. */
export function useLoaded<T>(call: () => Promise<T>, parameters: unknown[]) {
  const [state, setState] = useState<{ value?: T; failure?: string }>({});
  const calls = useRef(0);
  const latest = useRef(call);
  latest.current = call;
  const reload = useCallback(async () => {
    const current = ++calls.current;
    const next = await latest.current().then(
      (value) => ({ value }),
      (error: unknown) => ({ failure: reason(error) }),
    );
    if (current === calls.current) setState(next);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: those of the caller
  useEffect(() => void reload(), parameters);
  return { ...state, reload };
}

export const Section = ({
  title,
  wide = false,
  children,
}: {
  title: string;
  wide?: boolean;
  children: ComponentChildren;
}) => (
  <section class={wide ? 'card wide' : 'card'} aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);

/** A definition list of those entries that have a value. */
export const Facts = ({ entries }: { entries: readonly [term: string, value: ComponentChildren][] }) => (
  <dl>
    {entries
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([term, value]) => [<dt key={term}>{term}</dt>, <dd key={`${term}:`}>{value}</dd>])}
  </dl>
);

/** A bar of a chart, with its numbers as text. */
export interface Bar {
  label: string;
  value: number;
  /** Drawn after the bar in another colour. */
  second: number;
  detail: string;
  /** What choosing it does, and how that is called. */
  select?: { name: string; onClick: () => void };
}

/** A chart whose bars are rows, or columns beside each other. */
export function Chart({
  kind,
  caption,
  bars,
}: {
  kind: 'rows' | 'columns';
  caption: string;
  bars: readonly Bar[];
}) {
  const highest = Math.max(1, ...bars.map(({ value, second }) => value + second));
  const part = (name: string, value: number) => <div class={name} style={{ '--share': value / highest }} />;
  return (
    <div class={kind}>
      <h3>{caption}</h3>
      <ul>
        {bars.map(({ label, value, second, detail, select }) => (
          <li key={label}>
            {select ? (
              <button
                type="button"
                class="link"
                title={select.name}
                aria-label={select.name}
                onClick={select.onClick}
              >
                {label}
              </button>
            ) : (
              <span class="label">{label}</span>
            )}
            <div class="track">
              {part('bar', value)}
              {part('bar second', second)}
            </div>
            <span class="detail">{detail}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A moment in the reader's own time zone. */
export const moment = (time: string | number): string =>
  new Date(time).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'medium' });

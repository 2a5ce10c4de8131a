import { useEffect, useState, useSyncExternalStore } from 'react';
import { apiKey } from '../key.ts';
import { type Budget, type Window, windowAt } from '../server.ts';
import { type CostState, cost, type Quote } from './cost.ts';

const MAX_COST = 50;

export const useCost = (): CostState => useSyncExternalStore(cost.subscribe, () => cost.state);
export const useKeyState = () => useSyncExternalStore(apiKey.subscribe, () => apiKey.state);

const counted = (count: number, noun: string) =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

/** The quote as one line, also for screen readers. */
function quoteText(quote: Quote): string {
  switch (quote.kind) {
    case 'none':
      return quote.reason;
    case 'asking':
      return 'Requesting the cost …';
    case 'known':
      return quote.units === 0 ? 'Costs nothing' : `Costs ${counted(quote.units, 'unit')}`;
    case 'refused':
      return quote.expensive.length > 0 ? `Exceeds the maximum cost of ${MAX_COST} units` : quote.message;
  }
}

/** The current time, updated every second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** `42 s`, `3 min 5 s`, `23 h 59 min` */
function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  if (seconds <= 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

function WindowText({ name, window, now }: { name: string; window: Window; now: number }) {
  const { limit, remaining } = windowAt(window, now);
  const left = window.resetAt - now;
  return (
    <span className={remaining === 0 ? 'window used-up' : 'window'}>
      {name}: <b>{remaining.toLocaleString('en')}</b> of {limit.toLocaleString('en')} left
      {left > 0 && remaining < limit && <span className="countdown">, resets in {duration(left)}</span>}
    </span>
  );
}

function BudgetText({ budget: { minute, day } }: { budget: Budget }) {
  const now = useNow();
  return (
    <>
      <WindowText name="Minute" window={minute} now={now} />
      <WindowText name="Day" window={day} now={now} />
    </>
  );
}

/** Always visible below the response. */
export function CostStrip() {
  const { quote, budget, ran } = useCost();
  return (
    <section className="cost-strip" aria-label="Cost">
      <span role="status" className={`quote quote-${quote.kind}`}>
        {quoteText(quote)}
      </span>
      {ran !== undefined && (
        <span role="status" className="ran">
          The last run cost {counted(ran, 'unit')}
        </span>
      )}
      {budget && <BudgetText budget={budget} />}
    </section>
  );
}

/** Explains what makes the operation expensive and what a unit is. */
export function CostDetails() {
  const { quote, budget } = useCost();
  return (
    <>
      <p className={`quote quote-${quote.kind}`}>{quoteText(quote)}.</p>
      {quote.kind === 'refused' && quote.expensive.length > 0 && (
        <>
          <p>{quote.message}</p>
          <table className="expensive">
            <caption>What makes it expensive</caption>
            <thead>
              <tr>
                <th scope="col">List</th>
                <th scope="col">Maximum entries</th>
              </tr>
            </thead>
            <tbody>
              {quote.expensive.slice(0, 5).map(({ path, entries }) => (
                <tr key={path}>
                  <td>{path}</td>
                  <td>{entries.toLocaleString('en')}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <p>
            Reduce <code>first</code> or <code>last</code>. Without them, a list counts as 20 entries.
          </p>
        </>
      )}
      {budget && <p className="plan">Plan {budget.plan.toLowerCase()}. Each REST call costs one unit.</p>}
      <p>
        A root field costs 1 unit per 100 list entries that it and its subselections can return, and at least
        1. Operations above {MAX_COST} units are refused.
      </p>
    </>
  );
}

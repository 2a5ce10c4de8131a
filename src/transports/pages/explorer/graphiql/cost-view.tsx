import { useEffect, useState, useSyncExternalStore } from 'react';
import { ENTRIES_PER_UNIT, MAX_COST, WEIGHT_PER_UNIT } from '../../../../foundation/pricing.ts';
import { apiKey } from '../key.ts';
import { type Budget, type Window, windowAt } from '../server.ts';
import { type CostState, cost, type Quote, type Reasons } from './cost.ts';

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
      return quote.message;
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
  const { quote, budget, ran, events } = useCost();
  return (
    <section className="cost-strip" aria-label="Cost">
      <span role="status" className={`quote quote-${quote.kind}`}>
        {quoteText(quote)}
      </span>
      {events !== undefined && <span className="ran">Listening: {counted(events, 'event')} so far</span>}
      {ran !== undefined && events === undefined && (
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
  const reasons = quote.kind === 'known' || quote.kind === 'refused' ? quote.reasons : undefined;
  return (
    <>
      <p className={`quote quote-${quote.kind}`}>{quoteText(quote).replace(/\.?$/, '.')}</p>
      {reasons && <ReasonsView reasons={reasons} />}
      {budget && <p className="plan">Plan {budget.plan.toLowerCase()}. Each REST call costs one unit.</p>}
    </>
  );
}

function ReasonsView({ reasons }: { reasons: Reasons }) {
  const { lists, suggestion } = reasons;
  return (
    <>
      {suggestion && (
        <p role="status" className="suggestion">
          With <code>{suggestion.size}</code> entries per page in {suggestion.path} it costs{' '}
          {counted(suggestion.units, 'unit')}.
        </p>
      )}
      {lists.length > 0 && (
        <table className="expensive">
          <caption>Its lists, largest first</caption>
          <thead>
            <tr>
              <th scope="col">List</th>
              <th scope="col">Entries, up to</th>
            </tr>
          </thead>
          <tbody>
            {lists.slice(0, 5).map(({ path, entries }) => (
              <tr key={path}>
                <td>{path}</td>
                <td>{entries.toLocaleString('en')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p>
        A root field costs 1 unit per {ENTRIES_PER_UNIT} list entries or per{' '}
        {WEIGHT_PER_UNIT.toLocaleString('en')} of weight that it can return, whichever is more, and at least
        1. A field weighs 1 in each row, a long text more. Operations above {MAX_COST} units are refused.
      </p>
    </>
  );
}

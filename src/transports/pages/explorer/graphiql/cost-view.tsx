import { useSyncExternalStore } from 'react';
import { ENTRIES_PER_UNIT, MAX_COST, WEIGHT_PER_UNIT } from '../../../../foundation/pricing.ts';
import { apiKey } from '../key.ts';
import { counted, number } from '../words.ts';
import { type CostState, cost, type Reasons } from './cost.ts';

export const useCost = (): CostState => useSyncExternalStore(cost.subscribe, () => cost.state);
export const useKeyState = () => useSyncExternalStore(apiKey.subscribe, () => apiKey.state);

/** Always visible below the response. */
export function CostStrip() {
  const { quote, ran, events } = useCost();
  return (
    <section className="cost-strip" aria-label="Cost">
      <span role="status" className={`quote quote-${quote.kind}`}>
        {quote.text}
      </span>
      {events !== undefined && <span className="ran">Listening: {counted(events, 'event')} so far</span>}
      {ran !== undefined && events === undefined && (
        <span role="status" className="ran">
          The last run cost {counted(ran, 'unit')}
        </span>
      )}
    </section>
  );
}

/** Explains what makes the operation expensive and what a unit is. */
export function CostDetails() {
  const { quote } = useCost();
  const key = useKeyState();
  return (
    <>
      <p className={`quote quote-${quote.kind}`}>{quote.text.replace(/\.?$/, '.')}</p>
      {quote.reasons && <ReasonsView reasons={quote.reasons} />}
      {key.kind === 'accepted' && (
        <p className="plan">Plan {key.budget.plan.toLowerCase()}. Each REST call costs one unit.</p>
      )}
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
                <td>{number(entries)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p>
        A root field costs 1 unit per {ENTRIES_PER_UNIT} list entries or per {number(WEIGHT_PER_UNIT)} of
        weight that it can return, whichever is more, and at least 1. A field weighs 1 in each row, a long
        text more. Operations above {MAX_COST} units are refused.
      </p>
    </>
  );
}

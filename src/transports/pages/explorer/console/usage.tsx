/** @jsxImportSource preact */
import { useState } from 'preact/hooks';
import { counted, grouped } from '../../../../foundation/words.ts';
import { Button, Chart, Note, useLoaded } from './widgets.tsx';

/** One day of `GET /usage`. */
interface UsageDay {
  date: string;
  requests: number;
  units: number;
  refused: number;
}

/** One operation of `GET /usage/{date}`. */
interface UsageOperation extends Omit<UsageDay, 'date'> {
  operation: string;
  transport: string;
}

const DAY = 86_400_000;
const refusals = (count: number): string => (count > 0 ? `, ${grouped(count)} refused` : '');

/** Units by day, and by operation on a chosen day. Each view costs one unit, so it is loaded on demand. */
export function Usage() {
  const [days, setDays] = useState(7);
  const [chosen, choose] = useState<string>();
  const dates = Array.from({ length: days }, (_, ago) =>
    new Date(Date.now() - ago * DAY).toISOString().slice(0, 10),
  );
  const { value, failure, reload } = useLoaded<UsageDay[]>(`/usage?from=${dates.at(-1)}&to=${dates[0]}`);
  const date = chosen !== undefined && dates.includes(chosen) ? chosen : value?.at(-1)?.date;
  const bars = dates.map((day) => {
    const { units = 0, refused = 0 } = value?.find((used) => used.date === day) ?? {};
    const label = (
      <button key={day} type="button" class="link" onClick={() => choose(day)}>
        {day}
      </button>
    );
    return { label, value: units, second: refused, detail: `${counted(units, 'unit')}${refusals(refused)}` };
  });
  return (
    <>
      <p class="controls">
        <select aria-label="Period" onChange={({ currentTarget }) => setDays(Number(currentTarget.value))}>
          {[7, 30, 92].map((count) => (
            <option key={count} value={count}>
              {count} days
            </option>
          ))}
        </select>
        <Button onClick={reload}>Refresh</Button>
      </p>
      {failure !== undefined && <Note>Usage is not shown. {failure}</Note>}
      {value && <Chart caption="Units by day (UTC)" bars={bars} />}
      <div aria-live="polite">
        {value && date !== undefined && <Day date={date} used={value} />}
        {value?.length === 0 && <Note>Nothing was used in these days.</Note>}
      </div>
    </>
  );
}

/** The operations of a day. @param used reloaded when this changes */
function Day({ date, used }: { date: string; used: unknown }) {
  const { value, failure } = useLoaded<UsageOperation[]>(`/usage/${date}`, used);
  if (failure !== undefined) return <Note>{failure}</Note>;
  if (!value) return null;
  if (value.length === 0) return <Note>Nothing was used on {date}.</Note>;
  const bars = value.map(({ operation, transport, requests, units, refused }) => ({
    label: `${operation} (${transport})`,
    value: units,
    second: refused,
    detail: `${counted(units, 'unit')}, ${counted(requests, 'request')}${refusals(refused)}`,
  }));
  return <Chart caption={`By operation on ${date}`} bars={bars} />;
}

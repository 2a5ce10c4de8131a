import { useGraphiQL, useOperationsEditorState, useVariablesEditorState } from '@graphiql/react';
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { copy } from '../browser.ts';
import { counted, number } from '../words.ts';
import { bodyOfOne, useQuote } from './cost.ts';
import { runs } from './fetcher.ts';

/** Below the answer: what the operation costs, the status of the last run, and buttons that pass it on. */
export function Footer() {
  const { run, events } = useSyncExternalStore(runs.subscribe, () => runs.state);
  const { schema, queryEditor } = useGraphiQL((state) => state);
  const [query] = useOperationsEditorState();
  const [variables] = useVariablesEditorState();
  const [cursor, setCursor] = useState(0);
  useEffect(() => {
    const moved = queryEditor?.onDidChangeCursorPosition(({ position }) =>
      setCursor(queryEditor.getModel()!.getOffsetAt(position)),
    );
    return () => moved?.dispose();
  }, [queryEditor]);
  const priced = useMemo(
    () => bodyOfOne(query, variables, cursor, schema),
    [query, variables, cursor, schema],
  );
  const quote = useQuote(priced);
  const share = () => {
    if (query.trim() === '') return undefined;
    const given = new URLSearchParams({ query, ...(variables.trim() !== '' && { variables }) });
    return `${location.origin}${location.pathname}?${given}`;
  };
  return (
    <>
      <section className="cost-strip row" aria-label="Cost">
        <span role="status" className={`quote quote-${quote.kind}`}>
          {quote.text}
        </span>
        {events !== undefined && <span>Listening: {counted(events, 'event')} so far</span>}
        {run && (
          <span role="status">
            {run.units !== undefined && `The last run cost ${counted(run.units, 'unit')}. `}
            {run.status}, {number(run.milliseconds)} ms, {sizeOf(run.size)}
          </span>
        )}
      </section>
      <div className="actions copy-request">
        <CopyButton text={() => priced.body && asCurl(`${location.origin}/graphql`, priced.body)}>
          Copy as curl
        </CopyButton>
        <CopyButton text={share}>Share</CopyButton>
      </div>
    </>
  );
}

const sizeOf = (bytes: number): string => (bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`);

/** A request for a POSIX shell, with the key in the environment variable `KEY`. */
const asCurl = (url: string, body: string): string =>
  `curl -X POST '${url}' \\
  -H "X-API-Key: $KEY" \\
  -H 'Content-Type: application/json' \\
  --data-raw '${body.replaceAll("'", `'\\''`)}'`;

interface CopyProps {
  /** Called on click; undefined if there is nothing to copy. */
  text: () => string | undefined;
  children: ReactNode;
}

/** A button that copies a text to the clipboard and reports success. */
function CopyButton({ text, children }: CopyProps) {
  const [said, setSaid] = useState('');
  const onClick = async () => {
    const made = text();
    if (made === undefined) setSaid('Nothing to copy');
    else setSaid((await copy(made)) ? 'Copied' : 'The browser does not allow copying');
    setTimeout(() => setSaid(''), 2_000);
  };
  return (
    <button type="button" className="copy-button" onClick={() => void onClick()}>
      {children}{' '}
      <span role="status" className="said">
        {said}
      </span>
    </button>
  );
}

import { useGraphiQL, useOperationsEditorState, useVariablesEditorState } from '@graphiql/react';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { copyBy, element } from '../browser.ts';
import { counted } from '../../../../foundation/words.ts';
import { bodyOfOne, useQuote } from './quote.ts';
import { runs } from './fetcher.ts';

/** Below the answer: what the operation costs, the status of the last run, and buttons that pass it on. */
export function Footer() {
  const { last, events } = useSyncExternalStore(runs.subscribe, () => runs.state);
  const { schema, queryEditor, isFetching } = useGraphiQL((state) => state);
  const [query] = useOperationsEditorState();
  const [variables] = useVariablesEditorState();
  const [cursor, setCursor] = useState(0);
  useEffect(() => {
    if (!queryEditor) return;
    element('loading').hidden = true;
    // The toolbar is on the right of the lines, and would hide the ends of long ones.
    queryEditor.updateOptions({ wordWrap: 'on' });
    const moved = queryEditor.onDidChangeCursorPosition(({ position }) =>
      setCursor(queryEditor.getModel()!.getOffsetAt(position)),
    );
    return () => moved.dispose();
  }, [queryEditor]);
  // In small windows, the answer is below the fold.
  useEffect(() => {
    if (isFetching) document.querySelector('.graphiql-response')?.scrollIntoView({ block: 'nearest' });
  }, [isFetching]);
  const priced = useMemo(
    () => bodyOfOne(query, variables, cursor, schema),
    [query, variables, cursor, schema],
  );
  const quote = useQuote(priced);
  const link = `${location.origin}${location.pathname}?${new URLSearchParams({ query, variables })}`;
  const curl = priced.body && asCurl(`${location.origin}/graphql`, priced.body);
  return (
    <>
      <section className="cost-strip row" aria-label="Cost">
        <span role="status" className={`quote quote-${quote.kind}`}>
          {quote.text}
        </span>
        {events !== undefined && <span>Listening: {counted(events, 'event')} so far</span>}
        {last && <span role="status">{last}</span>}
        {!last && events === undefined && (
          <span>Run it with the button or Ctrl+Enter: the answer appears above.</span>
        )}
      </section>
      <div className="actions copy-request">
        <button
          type="button"
          aria-live="polite"
          disabled={!curl}
          onClick={({ currentTarget }) => copyBy(currentTarget, curl!)}
        >
          Copy as curl
        </button>
        <button type="button" aria-live="polite" onClick={({ currentTarget }) => copyBy(currentTarget, link)}>
          Share
        </button>
      </div>
    </>
  );
}

/** A request for a POSIX shell, with the key in the environment variable `KEY`. */
const asCurl = (url: string, body: string): string =>
  `curl -X POST '${url}' \\
  -H "X-API-Key: $KEY" \\
  -H 'Content-Type: application/json' \\
  --data-raw '${body.replaceAll("'", `'\\''`)}'`;

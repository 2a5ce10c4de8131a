import { useGraphiQL } from '@graphiql/react';
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { copy, element } from '../browser.ts';
import { counted, number } from '../words.ts';
import { bodyOfOne, useQuote } from './cost.ts';
import { runs } from './fetcher.ts';

export const useEditors = () =>
  useGraphiQL(({ queryEditor, variableEditor, schema }) => ({ queryEditor, variableEditor, schema }));

/** What is in the editors, and the position of the cursor. */
function useWritten() {
  const { queryEditor, variableEditor } = useEditors();
  const [written, setWritten] = useState({ query: '', variables: '', offset: 0 });
  useEffect(() => {
    if (!queryEditor || !variableEditor) return;
    element('loading').hidden = true;
    const look = () => {
      const position = queryEditor.getPosition();
      setWritten({
        query: queryEditor.getValue(),
        variables: variableEditor.getValue(),
        offset: (position && queryEditor.getModel()?.getOffsetAt(position)) ?? 0,
      });
    };
    look();
    const watched = [
      queryEditor.onDidChangeModelContent(look),
      queryEditor.onDidChangeCursorPosition(look),
      variableEditor.onDidChangeModelContent(look),
    ];
    return () => {
      for (const subscription of watched) subscription.dispose();
    };
  }, [queryEditor, variableEditor]);
  return written;
}

/** Below the answer: what the operation costs, the status of the last run, and buttons that pass it on. */
export function Footer() {
  const { run, events } = useSyncExternalStore(runs.subscribe, () => runs.state);
  const { schema } = useEditors();
  const written = useWritten();
  const priced = useMemo(() => bodyOfOne(written, schema), [written, schema]);
  const quote = useQuote(priced);
  const share = () => {
    const { query, variables } = written;
    if (query.trim() === '') return undefined;
    const given = new URLSearchParams({ query, ...(variables.trim() !== '' && { variables }) });
    return `${location.origin}${location.pathname}?${given}`;
  };
  return (
    <>
      <section className="cost-strip" aria-label="Cost">
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
      {children}
      <span role="status" className="said">
        {said}
      </span>
    </button>
  );
}

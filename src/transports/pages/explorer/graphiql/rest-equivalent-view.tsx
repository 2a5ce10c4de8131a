import { useEffect, useMemo, useState } from 'react';
import type { RestOperation } from '../../rest-operation.ts';
import { restOperations } from '../operations.ts';
import { asCurl, KEY } from '../snippets.ts';
import { CopyButton } from './copy-button.tsx';
import { useCost } from './cost-view.tsx';
import { RestEquivalents } from './rest-equivalent.ts';

/** Shows the REST call that does the same, if there is one. */
export function RestEquivalentView() {
  const { subject } = useCost();
  const [operations, setOperations] = useState<RestOperation[]>([]);
  useEffect(() => {
    void restOperations().then(setOperations);
  }, []);
  const equivalents = useMemo(() => new RestEquivalents(operations), [operations]);
  const equivalent = subject && equivalents.of(subject);
  if (!equivalent) {
    return <p>No single REST call is equivalent. REST returns one kind of record at a time.</p>;
  }
  const { rest, method, url, body, missing } = equivalent;
  const snippet = {
    method,
    url: `${location.origin}${url}`,
    headers: { 'X-API-Key': KEY, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body }),
  };
  return (
    <div className="rest-equivalent">
      <pre>
        <code>
          {method} {url}
          {body !== undefined && `\n\n${body}`}
        </code>
      </pre>
      {missing.length > 0 && <p>It omits {missing.join('; ')}.</p>}
      <p className="actions">
        <CopyButton text={() => asCurl(snippet)}>Copy as curl</CopyButton>
        <a href={`/docs#tag/${rest.tag}/${rest.operationId}`}>{rest.operationId} in the REST docs</a>
      </p>
    </div>
  );
}

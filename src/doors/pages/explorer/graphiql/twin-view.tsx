import { useEffect, useMemo, useState } from 'react';
import type { RestOperation } from '../../rest-operation.ts';
import { restOperations } from '../operations.ts';
import { asCurl } from './copy.ts';
import { CopyButton } from './copy-button.tsx';
import { usePrice } from './price-view.tsx';
import { Twins } from './twin.ts';

/** The REST call that does the same, where there is one. */
export function TwinView() {
  const { subject } = usePrice();
  const [operations, setOperations] = useState<RestOperation[]>([]);
  useEffect(() => {
    void restOperations().then(setOperations);
  }, []);
  const twins = useMemo(() => new Twins(operations), [operations]);
  const twin = subject && twins.of(subject);
  if (!twin) {
    return <p>No single REST call does the same. REST answers one kind of record at a time.</p>;
  }
  const { rest, method, url, body, missing } = twin;
  const snippet = {
    method,
    url: `${location.origin}${url}`,
    headers: { 'X-API-Key': '$KEY', ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body }),
  };
  return (
    <div className="twin">
      <pre>
        <code>
          {method} {url}
          {body !== undefined && `\n\n${body}`}
        </code>
      </pre>
      {missing.length > 0 && <p>It leaves out {missing.join('; ')}.</p>}
      <p className="actions">
        <CopyButton text={() => asCurl(snippet)}>Copy as curl</CopyButton>
        <a href={`/docs#/${rest.tag}/${rest.operationId}`}>{rest.operationId} in the REST docs</a>
      </p>
    </div>
  );
}

import type { RestOperation } from '../rest-operation.ts';

let listed: Promise<RestOperation[]> | undefined;

/** The REST operations of this server, or none if it cannot be reached. */
export function restOperations(): Promise<RestOperation[]> {
  listed ??= fetch('/explorer/operations.json')
    .then((response) => (response.ok ? response.json() : []))
    .catch(() => {
      listed = undefined;
      return [];
    });
  return listed;
}

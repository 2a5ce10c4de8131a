import type { Session } from '../access/session.ts';
import { type EventTypeName, fromEventTypeName } from '../domains/event/event.ts';
import type { EventStreams } from '../events/streams.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { PublicResult } from '../operations/result.ts';

/** The variables of a list of events that was asked to wait. */
export interface PollVariables {
  after?: string;
  type?: readonly EventTypeName[];
  /** In seconds. */
  wait: number;
}

/**
 * Long polling: runs the document of a list of events, again if it has to wait for the first one.
 *
 * @param run runs it with these variables
 */
export async function poll(
  streams: EventStreams,
  { requestId, response, apiKey }: RequestContext,
  session: Session,
  variables: PollVariables,
  run: (variables: PollVariables) => MaybePromise<PublicResult>,
): Promise<PublicResult> {
  const { after, type, wait } = variables;
  const selection = {
    ...(after !== undefined && { after }),
    ...(type && { types: type.map(fromEventTypeName) }),
  };
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const key = apiKey!;
  const options = { session, key, selection, requestId, wait: wait * 1000, signal: gone.signal };
  const { result } = await streams.poll(options, async (position) =>
    polledPage(await run(position === undefined ? variables : { ...variables, after: position })),
  );
  return result;
}

/** An error ends the poll as a page with events does. */
function polledPage(result: PublicResult) {
  const page = result.errors ? undefined : (result.data as { page: EventsPage }).page;
  return { result, isEmpty: page?.nodes.length === 0, next: page?.pageInfo.endCursor ?? '' };
}

/** What `listEvents` selects, as far as polling needs it. */
interface EventsPage {
  nodes: unknown[];
  pageInfo: { endCursor: string };
}

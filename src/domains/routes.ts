import { events } from './event/event.routes.ts';
import { DOMAINS } from './index.ts';
import type { Resource, Route, Stream } from './route.ts';

/** What REST shows: the records of all domains, and the log of what happened to them. */
export const RESOURCES: readonly Resource[] = [...DOMAINS.map(({ resource }) => resource), events];

/** Every REST operation. */
export const ROUTES: readonly Route[] = RESOURCES.flatMap(({ routes }) => routes);

/** Every stream of server-sent events over REST. */
export const STREAMS: readonly Stream[] = RESOURCES.flatMap(({ streams = [] }) => streams);

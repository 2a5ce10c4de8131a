import type { Resource, Route, Stream } from '../schema/route.ts';
import { events } from './event/event.routes.ts';
import { DOMAINS } from './index.ts';

/** Everything REST exposes: the records of all domains and the log of their changes. */
export const RESOURCES: readonly Resource[] = [...DOMAINS.map(({ resource }) => resource), events];

/** Every REST operation. */
export const ROUTES: readonly Route[] = RESOURCES.flatMap(({ routes }) => routes);

/** Every REST operation that streams server-sent events. */
export const STREAMS: readonly Stream[] = RESOURCES.flatMap(({ streams = [] }) => streams);

import type { Logger } from 'pino';
import type { Store } from './store.ts';

/** How often the database is checked, in milliseconds. */
const INTERVAL = 30_000;

/**
 * Logs when the database is unreachable, repeatedly while it is, and when it is back.
 *
 * @param uri the MongoDB URI; undefined for the embedded store, which is never away
 */
export function watchDatabase(
  store: Pick<Store, 'ping'>,
  uri: string | undefined,
  log: Pick<Logger, 'warn' | 'info'>,
  interval = INTERVAL,
): void {
  if (uri === undefined) return;
  const host = hostsOf(uri);
  let isAway = false;
  const check = async () => {
    try {
      await store.ping();
      if (isAway) log.info({ host }, 'the database is back');
      isAway = false;
    } catch (error) {
      log.warn({ host, reason: reasonOf(error) }, 'the database is unreachable');
      isAway = true;
    }
    setTimeout(check, interval).unref();
  };
  void check();
}

/** The hosts of a connection string, without credentials. */
export const hostsOf = (uri: string): string => {
  const authority = uri.slice(uri.indexOf('//') + 2).replace(/[/?].*$/, '');
  return authority.slice(authority.lastIndexOf('@') + 1);
};

/** The driver's reason, rather than the message for clients. */
const reasonOf = (error: unknown): string => {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message : message;
};

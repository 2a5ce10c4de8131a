import type { Logger } from 'pino';
import type { Store } from './store.ts';

/** How often the database is asked whether it is there, in milliseconds. */
const INTERVAL = 30_000;

/**
 * Says in the log that the database is away, at the start and as long as it is, and when it is back.
 *
 * @param uri of MongoDB; the embedded store has none and is never away
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
      log.warn({ host, reason: reasonOf(error) }, 'the database is away');
      isAway = true;
    }
    setTimeout(check, interval).unref();
  };
  void check();
}

/** The hosts of a connection string, without the user and the password before them. */
export const hostsOf = (uri: string): string => {
  const authority = uri.slice(uri.indexOf('//') + 2).replace(/[/?].*$/, '');
  return authority.slice(authority.lastIndexOf('@') + 1);
};

/** What the driver says is the cause of what clients are told. */
const reasonOf = (error: unknown): string => {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message : message;
};

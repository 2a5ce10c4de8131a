import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from 'graphql-sse';

/**
 * A client for subscriptions that waits for Retry-After, and after a broken connection goes on from the last event. The
 * subscriptions select the `id` of `events` and take it as their variable `after`.
 */
export function sseClient(url: string, key: string): Client {
  const last = new Map<string, string>();
  return createClient({
    url: `${url}/graphql`,
    headers: { 'X-API-Key': key },
    retryAttempts: Infinity,
    async fetchFn(input: string, init: RequestInit & { body: string }) {
      const { signal } = init;
      const request = JSON.parse(init.body);
      const after = last.get(init.body) ?? request.variables?.after;
      const body = JSON.stringify({ ...request, variables: { ...request.variables, after } });
      for (;;) {
        const response = await fetch(input, { ...init, body });
        const wait = Number(response.headers.get('Retry-After'));
        if (![429, 503].includes(response.status) || wait === 0) return noting(response, init.body);
        await response.body?.cancel();
        await sleep(wait * 1000, undefined, { signal: signal! });
      }
    },
  });

  /** Notes the id of each event that passes. */
  function noting(response: Response, operation: string): Response {
    if (!response.ok || !response.body) return response;
    let rest = '';
    const watch = new TransformStream<string, string>({
      transform(text, controller) {
        const lines = (rest + text).split('\n');
        rest = lines.pop()!;
        for (const line of lines) {
          const id = line.startsWith('data: {') && JSON.parse(line.slice(6)).data?.events?.id;
          if (id) last.set(operation, id);
        }
        controller.enqueue(text);
      },
    });
    const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(watch);
    return new Response(body.pipeThrough(new TextEncoderStream()), response);
  }
}

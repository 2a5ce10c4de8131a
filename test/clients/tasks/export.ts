import { call } from './call.ts';

/** Yields every record of a list in one stream, and resumes where it ended early: when the budget was used up. */
export async function* exported<T>(url: string, key: string): AsyncGenerator<T> {
  for (let after: string | undefined = '0'; after !== undefined;) {
    const headers = { 'X-API-Key': key, Accept: 'application/x-ndjson' };
    const response = await call(`${url}?after=${encodeURIComponent(after)}`, { headers });
    if (!response.ok) throw new Error((await response.json()).message);
    after = undefined;
    for await (const line of linesOf(response)) {
      const record = JSON.parse(line);
      if (record.code === undefined) yield record;
      // The last line says where to resume. Without `after`, resuming would fail again.
      else if (record.after === undefined) throw new Error(record.message);
      else after = record.after;
    }
  }
}

async function* linesOf({ body }: Response): AsyncGenerator<string> {
  let rest = '';
  for await (const text of body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}

import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import { BUNDLE_PATH, Bundle } from '../../../src/doors/pages/bundle.ts';
import { Exchange } from '../../../src/http/exchange.ts';

it('a file is read once for all who take it within 10 seconds', async () => {
  const manifest = new URL('../../../dist/explorer/manifest.json', import.meta.url);
  const [file] = (JSON.parse(readFileSync(manifest, 'utf8')) as { files: string[] }).files;
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const bundle = new Bundle();
    const request = { headers: {}, url: BUNDLE_PATH + file } as IncomingMessage;
    const taken = async () => (await bundle.handle(new Exchange(request, {} as ServerResponse, 'test'))).body;
    const first = await taken();
    vi.advanceTimersByTime(9_999);
    expect(await taken()).toBe(first);
    vi.advanceTimersByTime(1);
    const second = await taken();
    expect(second).not.toBe(first);
    expect(second).toEqual(first);
  } finally {
    vi.useRealTimers();
  }
});

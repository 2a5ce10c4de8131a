import { readFileSync } from 'node:fs';
import { it } from 'vitest';
import { BUNDLE_PATH, Bundle } from '../../../src/transports/pages/bundle.ts';
import { expectKeptFor } from '../../kit/kept.ts';

it('caches the content of a bundle file for 10 seconds', async () => {
  const manifest = new URL('../../../dist/explorer/manifest.json', import.meta.url);
  const [file] = (JSON.parse(readFileSync(manifest, 'utf8')) as { files: string[] }).files;
  await expectKeptFor(10_000, BUNDLE_PATH + file, new Bundle());
});

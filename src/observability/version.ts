import { readFileSync } from 'node:fs';

/** The version of the gateway, from package.json, which the image has too. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;

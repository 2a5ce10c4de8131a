import { run } from '../petstore.ts';

await run('keys', ...process.argv.slice(2));

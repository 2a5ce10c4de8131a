import { run } from './petstore.ts';

await run('serve', ...process.argv.slice(2));

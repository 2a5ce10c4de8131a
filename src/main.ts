import { run } from './program.ts';

await run('serve', ...process.argv.slice(2));

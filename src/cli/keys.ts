import { run } from '../program.ts';

await run('keys', ...process.argv.slice(2));

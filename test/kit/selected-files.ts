import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';

/**
 * The test files of this run that match a pattern by path or text, or import a helper that does, so that one file by
 * itself doesn't wait for what it doesn't use.
 */
export function selectedFiles({ vitest }: TestProject, pattern: RegExp): string[] {
  return vitest.state
    .getPaths()
    .filter((file) => textsBelow(file, new Set()).some((text) => pattern.test(text)));
}

/** The paths and texts of a file and of all that it imports below `test`. */
function textsBelow(file: string, visited: Set<string>): string[] {
  if (visited.has(file)) return [];
  visited.add(file);
  const text = readFileSync(file, 'utf8');
  const imports = [...text.matchAll(/'(\.{1,2}\/[^']*\.ts)'/g)].map(([, path]) =>
    resolve(dirname(file), path!),
  );
  return [
    file,
    text,
    ...imports.filter((path) => path.includes('/test/')).flatMap((path) => textsBelow(path, visited)),
  ];
}

/** The oldest Node.js that runs the gateway, as in the `engines` of package.json. */
const MINIMUM = [20, 19] as const;

/** One line that says what is needed if a version of Node.js is too old; else undefined. */
export function nodeVersionError(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isSupported = major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
  return isSupported ? undefined : `Node.js ${MINIMUM.join('.')} or newer is needed; this is ${version}.`;
}

// The build runs this file before anything that an older Node.js would fail to load with a stack trace.
const error = nodeVersionError(process.versions.node);
if (error !== undefined) {
  process.stderr.write(`${error}\n`);
  process.exit(1);
}

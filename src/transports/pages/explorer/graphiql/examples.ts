import source from './examples.graphql?raw';

/** An example operation. */
export interface Example {
  title: string;
  about: string;
  variables?: string;
  query: string;
}

const EXAMPLE = /^# (?<title>.*)\n# (?<about>.*)\n(?:# (?<variables>\{.*)\n)?(?<query>(?:.+\n)+)/gm;

/** All examples. GraphiQL shows the first one on the first visit. */
export const EXAMPLES = [...source.matchAll(EXAMPLE)].map(({ groups }) => groups as unknown as Example);

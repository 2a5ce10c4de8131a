import source from './examples.graphql?raw';

/** An operation to begin with. */
export interface Example {
  title: string;
  about: string;
  variables?: string;
  query: string;
}

const EXAMPLE = /^# (?<title>.*)\n# (?<about>.*)\n(?:# (?<variables>\{.*)\n)?(?<query>(?:.+\n)+)/gm;

/** The first is in GraphiQL on the first visit. */
export const EXAMPLES = [...source.matchAll(EXAMPLE)].map(({ groups }) => groups as unknown as Example);

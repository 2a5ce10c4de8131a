import { explorerPlugin } from '@graphiql/plugin-explorer';
import { type GraphiQLPlugin, StarIcon, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql';
import { buildSchema, type GraphQLSchema } from 'graphql';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { MOUNT } from '../browser.ts';
import { messageOf, UNREACHABLE } from '../responses.ts';
import { theme } from '../theme.ts';
import examples from './examples.graphql?raw';
import { fetcher } from './fetcher.ts';
import { Footer } from './footer.tsx';

/** An example operation. */
interface Example {
  title: string;
  about: string;
  variables?: string;
  query: string;
}

const EXAMPLE = /^# (?<title>.*)\n# (?<about>.*)\n(?:# (?<variables>\{.*)\n)?(?<query>(?:.+\n)+)/gm;

/** All examples. GraphiQL shows the first one on the first visit. */
const EXAMPLES = [...examples.matchAll(EXAMPLE)].map(({ groups }) => groups as unknown as Example);

const EXAMPLES_PLUGIN: GraphiQLPlugin = {
  title: 'Examples',
  icon: StarIcon,
  content: Examples,
};
/** Builds an operation by ticking fields. */
const { content: Explorer, ...explorer } = explorerPlugin({ showAttribution: false });
const BUILD_PLUGIN: GraphiQLPlugin = { ...explorer, title: 'Build', content: Build };
const PLUGINS = [EXAMPLES_PLUGIN, BUILD_PLUGIN, HISTORY_PLUGIN];

/** True if the window is wide enough for a panel beside the editors. */
const isWide = matchMedia('(min-width: 800px)').matches;

/** The operation of a link, from the other pages or shared. */
const { query: linked, variables = '' } = Object.fromEntries(new URLSearchParams(location.search));
// Reloading the page should keep the user's edits.
history.replaceState(null, '', location.pathname + location.hash);

/** Keeps tabs, history and settings across visits, but not headers, which the history would write to disk. */
const storage = {
  getItem: (name: string) => localStorage.getItem(name),
  setItem: (name: string, value: string) =>
    localStorage.setItem(name, value.replaceAll(/"headers":"(?:[^"\\]|\\.)*"/g, '"headers":null')),
  removeItem: (name: string) => localStorage.removeItem(name),
  clear: () => localStorage.clear(),
  length: 1,
};
// Operations fit beside the toolbar on a laptop, until the user drags the panes.
localStorage['graphiql:docExplorerFlex'] ??= '0.25';
localStorage['graphiql:editorFlex'] ??= '1';

export function App() {
  const [{ schema, problem }, setLoaded] = useState<Awaited<ReturnType<typeof loadSchema>>>({});
  useEffect(() => void loadSchema().then(setLoaded), []);
  const forcedTheme = useSyncExternalStore(theme.subscribe, () => theme.state);
  return (
    <>
      {problem && (
        <p role="alert" className="loading">
          {problem}
        </p>
      )}
      <GraphiQL
        fetcher={fetcher}
        // Chosen in the header, for all pages.
        forcedTheme={forcedTheme}
        // Null while loading: otherwise GraphiQL would request it, possibly without a key.
        schema={schema ?? null}
        storage={storage}
        plugins={PLUGINS}
        {...(isWide && { visiblePlugin: EXAMPLES_PLUGIN })}
        defaultTabs={[{ query: linked ?? EXAMPLES[0]!.query, variables }]}
        {...(linked && { initialQuery: linked, initialVariables: variables })}
        showPersistHeadersSettings={false}
      >
        <GraphiQL.Logo>
          <span />
        </GraphiQL.Logo>
        <GraphiQL.Footer>
          <Footer />
        </GraphiQL.Footer>
      </GraphiQL>
    </>
  );
}

/** The schema, which is as public as the documentation and so needs no key, or why there is none. */
async function loadSchema(): Promise<{ schema?: GraphQLSchema; problem?: string }> {
  const response = await fetch(`${MOUNT}/schema.graphql`).catch(() => undefined);
  if (!response) return { problem: UNREACHABLE };
  const text = await response.text();
  if (response.ok) return { schema: buildSchema(text, { assumeValid: true }) };
  if (![401, 404].includes(response.status)) return { problem: messageOf(text, response) };
  return { problem: 'This server hides its schema. Operations run, but without completion and validation.' };
}

function Examples() {
  const { queryEditor, variableEditor } = useGraphiQL((state) => state);
  const { addTab } = useGraphiQLActions();
  /** Opens an example: in this tab if that loses nothing, or in a new one. */
  const open = ({ query, variables = '' }: Example) => {
    if (!queryEditor || !variableEditor) return;
    const current = queryEditor.getValue();
    if (current.trim() !== '' && !EXAMPLES.some((example) => example.query === current)) addTab();
    queryEditor.setValue(query);
    variableEditor.setValue(variables && JSON.stringify(JSON.parse(variables), undefined, 2));
    // The panel is closed while there are no variables.
    const tool = '.graphiql-editor-tools [data-name="variables"]:not(.active)';
    if (variables !== '') document.querySelector<HTMLElement>(tool)?.click();
    queryEditor.focus();
  };
  return (
    <section aria-label="Examples" className="panel">
      <h2>Examples</h2>
      <ul className="examples">
        {EXAMPLES.map((example) => (
          <li key={example.title}>
            <button type="button" onClick={() => open(example)}>
              {example.title}
            </button>
            <p>{example.about}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The panel that builds operations, from its top: it would begin where the operation's first field is. */
function Build() {
  useEffect(() => {
    const timer = setTimeout(() => document.querySelector('.graphiql-plugin')?.scrollTo(0, 0), 100);
    return () => clearTimeout(timer);
  }, []);
  return <Explorer />;
}

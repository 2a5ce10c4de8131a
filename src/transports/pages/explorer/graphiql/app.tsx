import { explorerPlugin } from '@graphiql/plugin-explorer';
import { type GraphiQLPlugin, StarIcon, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql';
import { buildSchema, type GraphQLSchema } from 'graphql';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { messageOf, UNREACHABLE } from '../server.ts';
import { theme } from '../theme.ts';
import { EXAMPLES } from './examples.ts';
import { fetcher } from './fetcher.ts';
import { Footer, useEditors } from './footer.tsx';
import { storage } from './storage.ts';

const EXAMPLES_PLUGIN: GraphiQLPlugin = {
  title: 'Examples',
  icon: StarIcon,
  content: Examples,
};
/** Builds an operation by ticking fields. */
const { content: Explorer, ...explorer } = explorerPlugin({ showAttribution: false });
const BUILD_PLUGIN: GraphiQLPlugin = { ...explorer, title: 'Build', content: Build };
const PLUGINS = [EXAMPLES_PLUGIN, BUILD_PLUGIN, HISTORY_PLUGIN];

/** Wide enough for a panel beside the editors. */
const isWide = matchMedia('(min-width: 800px)').matches;

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
        dangerouslyAssumeSchemaIsValid
        storage={storage}
        plugins={PLUGINS}
        {...(isWide && { visiblePlugin: EXAMPLES_PLUGIN })}
        defaultQuery=""
        defaultTabs={[{ query: EXAMPLES[0].query, variables: '', headers: '' }]}
        showPersistHeadersSettings={false}
        inputValueDeprecation
      >
        <GraphiQL.Logo>
          <span />
        </GraphiQL.Logo>
        <GraphiQL.Footer>
          <Footer />
          <Companion />
        </GraphiQL.Footer>
      </GraphiQL>
    </>
  );
}

/** The schema, which is as public as the documentation and so needs no key, or why there is none. */
async function loadSchema(): Promise<{ schema?: GraphQLSchema; problem?: string }> {
  const response = await fetch('/schema.graphql').catch(() => undefined);
  if (!response) return { problem: UNREACHABLE };
  const text = await response.text();
  if (response.ok) return { schema: buildSchema(text, { assumeValid: true }) };
  if (![401, 404].includes(response.status)) return { problem: messageOf(text, response) };
  return { problem: 'This server hides its schema. Operations run, but without completion and validation.' };
}

/** Opens an operation: in the tab that already has it, in this one if that loses nothing, or in a new one. */
function useOpen(): (example: { query: string; variables?: string | undefined }) => void {
  const { queryEditor, variableEditor } = useEditors();
  const { tabs, activeTabIndex } = useGraphiQL(({ tabs, activeTabIndex }) => ({ tabs, activeTabIndex }));
  const { addTab, changeTab } = useGraphiQLActions();
  return ({ query, variables = '' }) => {
    if (!queryEditor || !variableEditor) return;
    const current = queryEditor.getValue();
    const open = tabs.findIndex((tab, index) => (index === activeTabIndex ? current : tab.query) === query);
    if (open >= 0) {
      if (open !== activeTabIndex) changeTab(open);
      return;
    }
    const isUntouched = EXAMPLES.some((example) => example.query === current);
    if (current.trim() !== '' && !isUntouched) addTab();
    queryEditor.setValue(query);
    variableEditor.setValue(variables);
    // Closed while there are none.
    if (variables !== '')
      document
        .querySelector<HTMLElement>('.graphiql-editor-tools [data-name="variables"]:not(.active)')
        ?.click();
    queryEditor.focus();
  };
}

function Examples() {
  const open = useOpen();
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
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const panel = top.current?.closest('.graphiql-plugin');
    const timer = setTimeout(() => panel?.scrollTo(0, 0), 100);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div ref={top}>
      <Explorer />
    </div>
  );
}

/** What goes on beside the editors, and shows nothing itself. */
function Companion() {
  const { queryEditor, variableEditor } = useEditors();
  const isFetching = useGraphiQL(({ isFetching }) => isFetching);
  const open = useOpen();

  // The response is brought into view when an operation runs in a window where it is below the fold.
  useEffect(() => {
    if (isFetching && !isWide)
      document.querySelector('.graphiql-response')?.scrollIntoView({ block: 'start' });
  }, [isFetching]);

  // The operation of a link, from the other pages or shared, is opened: `?query=` and `&variables=`.
  const isReady = Boolean(queryEditor && variableEditor);
  useEffect(() => {
    const shared = new URLSearchParams(location.search);
    const query = shared.get('query');
    if (!isReady || !query) return;
    open({ query, variables: shared.get('variables') ?? '' });
    // Reloading the page should keep the user's edits.
    history.replaceState(null, '', location.pathname);
    // oxlint-disable-next-line react/exhaustive-deps -- once, when there are editors to open it in
  }, [isReady]);
  return null;
}

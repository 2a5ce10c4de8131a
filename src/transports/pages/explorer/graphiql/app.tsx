import { explorerPlugin } from '@graphiql/plugin-explorer';
import { type GraphiQLPlugin, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql';
import { buildSchema, type GraphQLSchema } from 'graphql';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { apiKey } from '../key.ts';
import { restOperations } from '../operations.ts';
import { describeFailure } from '../server.ts';
import { asCurl, asFetch, withoutKey } from '../snippets.ts';
import { theme } from '../theme.ts';
import { CopyButton } from './copy-button.tsx';
import { cost } from './cost.ts';
import { CostDetails, CostStrip, useCost, useKeyState } from './cost-view.tsx';
import { type Example, examplesFor } from './examples.ts';
import { fetcher } from './fetcher.ts';
import { FIRST_EXAMPLE } from './first-example.ts';
import { BookIcon, CoinIcon } from './icons.tsx';
import { tryParseJSONC } from './jsonc.ts';
import { headersFor } from './request.ts';
import { RestEquivalentView } from './rest-equivalent-view.tsx';
import { storage } from './storage.ts';

const EXAMPLES_PLUGIN: GraphiQLPlugin = { title: 'Examples', icon: BookIcon, content: Examples };
const COST_PLUGIN: GraphiQLPlugin = { title: 'Cost and REST', icon: CoinIcon, content: CostPanel };
/** Builds an operation by ticking fields. */
const BUILD_PLUGIN: GraphiQLPlugin = { ...explorerPlugin({ showAttribution: false }), title: 'Build' };
const PLUGINS = [EXAMPLES_PLUGIN, BUILD_PLUGIN, COST_PLUGIN, HISTORY_PLUGIN];

/** Wide enough for a panel beside the editors. */
const isWide = matchMedia('(min-width: 800px)').matches;

export function App() {
  const [schema, problem] = useSchema();
  const forcedTheme = useSyncExternalStore(theme.subscribe, () => theme.current);
  return (
    <>
      {problem && (
        <p role="alert" className="problem">
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
        defaultTabs={[{ query: FIRST_EXAMPLE, variables: '', headers: '' }]}
        defaultEditorToolsVisibility={isWide}
        showPersistHeadersSettings={false}
        inputValueDeprecation
      >
        <GraphiQL.Logo>
          <span />
        </GraphiQL.Logo>
        <GraphiQL.Footer>
          <CostStrip />
          <CopyRequest />
          <Watch />
          <OpenFromAddress />
          <ShowResponse />
        </GraphiQL.Footer>
      </GraphiQL>
    </>
  );
}

/** Loads the schema, which is as public as the documentation and so needs no key. */
function useSchema(): [schema: GraphQLSchema | undefined, problem: string | undefined] {
  const [schema, setSchema] = useState<GraphQLSchema>();
  const [problem, setProblem] = useState<string>();
  const key = useKeyState();
  useEffect(() => {
    if (schema || key.kind === 'checking') return;
    const load = async () => {
      try {
        const response = await fetch('/schema.graphql');
        if (!response.ok) throw response;
        setSchema(buildSchema(await response.text(), { assumeValid: true }));
        setProblem(undefined);
      } catch (error) {
        const isHidden = error instanceof Response && [401, 404].includes(error.status);
        setProblem(
          isHidden
            ? 'This server hides its schema. Operations run, but without completion and validation.'
            : await describeFailure(error),
        );
      }
    };
    void load();
  }, [schema, key]);
  return [schema, problem];
}

const useEditors = () =>
  useGraphiQL(({ queryEditor, variableEditor, headerEditor, schema }) => ({
    queryEditor,
    variableEditor,
    headerEditor,
    schema,
  }));

/** Tracks the operation under the cursor. */
function Watch() {
  const { queryEditor, variableEditor, schema } = useEditors();
  useEffect(() => {
    if (!queryEditor || !variableEditor) return;
    const look = () => {
      const model = queryEditor.getModel();
      const position = queryEditor.getPosition();
      const offset = model && position ? model.getOffsetAt(position) : 0;
      cost.update(queryEditor.getValue(), variableEditor.getValue(), offset, schema);
    };
    look();
    const watched = [
      queryEditor.onDidChangeModelContent(look),
      queryEditor.onDidChangeCursorPosition(look),
      variableEditor.onDidChangeModelContent(look),
    ];
    const unsubscribe = apiKey.subscribe(look);
    return () => {
      for (const subscription of watched) subscription.dispose();
      unsubscribe();
    };
  }, [queryEditor, variableEditor, schema]);
  return null;
}

/** Copies the current operation as a request, or as a link that opens it here. */
function CopyRequest() {
  const { subject } = useCost();
  const { queryEditor, variableEditor, headerEditor } = useEditors();
  const share = () => {
    const query = queryEditor?.getValue() ?? '';
    const variables = variableEditor?.getValue() ?? '';
    if (query.trim() === '') return undefined;
    const given = new URLSearchParams({ query, ...(variables.trim() !== '' && { variables }) });
    return `${location.origin}${location.pathname}?${given}`;
  };
  const snippet = () => {
    if (!subject) return undefined;
    try {
      const { 'X-RateLimit-Extension': _ours, ...headers } = headersFor(
        tryParseJSONC(headerEditor?.getValue()),
      );
      const url = `${location.origin}/graphql`;
      return { method: 'POST', url, headers: withoutKey(headers), body: subject.body };
    } catch {
      // With headers that are not valid JSON, nothing is sent either.
      return undefined;
    }
  };
  const made = (write: typeof asCurl) => () => {
    const request = snippet();
    return request && write(request);
  };
  return (
    <div className="actions copy-request">
      <CopyButton text={made(asCurl)}>Copy as curl</CopyButton>
      <CopyButton text={made(asFetch)}>Copy as fetch</CopyButton>
      <CopyButton text={share}>Share</CopyButton>
    </div>
  );
}

/** Opens an operation: in the tab that already has it, in this one if that loses nothing, or in a new one. */
function useOpen(): (example: { query: string; variables?: string | undefined }) => void {
  const { queryEditor, variableEditor, schema } = useEditors();
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
    const isUntouched = examplesFor(schema).some((example) => example.query === current);
    if (current.trim() !== '' && !isUntouched) addTab();
    queryEditor.setValue(query);
    variableEditor.setValue(variables);
    queryEditor.focus();
  };
}

function Examples() {
  const { schema } = useEditors();
  const open = useOpen();
  return (
    <section aria-label="Examples" className="panel">
      <h2>Examples</h2>
      <ul className="examples">
        {examplesFor(schema).map((example: Example) => (
          <li key={example.id}>
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

function CostPanel() {
  return (
    <section aria-label="Cost and REST" className="panel">
      <h2>Cost</h2>
      <CostDetails />
      <h2>The same over REST</h2>
      <RestEquivalentView />
    </section>
  );
}

/** Brings the response into view when an operation runs in a window where it is below the fold. */
function ShowResponse() {
  const isFetching = useGraphiQL(({ isFetching }) => isFetching);
  useEffect(() => {
    if (isFetching && !isWide)
      document.querySelector('.graphiql-response')?.scrollIntoView({ block: 'start' });
  }, [isFetching]);
  return null;
}

/**
 * Handles links from the other pages, such as `#operation=listPets` and `#example=nested`, and shared ones with
 * `?query=` and `&variables=`.
 */
function OpenFromAddress() {
  const { queryEditor, variableEditor, schema } = useEditors();
  const open = useOpen();
  const latest = useRef(open);
  latest.current = open;
  const isReady = Boolean(queryEditor && variableEditor);
  useEffect(() => {
    if (!isReady) return;
    const follow = async () => {
      const wanted = new URLSearchParams(location.hash.slice(1));
      const shared = new URLSearchParams(location.search);
      const query = shared.get('query');
      const operation = (await restOperations()).find(
        ({ operationId }) => operationId === wanted.get('operation'),
      );
      const example = examplesFor(schema).find(({ id }) => id === wanted.get('example'));
      if (operation) {
        const { document, variables } = operation;
        const isEmpty = Object.keys(variables).length === 0;
        latest.current({
          query: document,
          variables: isEmpty ? '' : `${JSON.stringify(variables, null, 2)}\n`,
        });
      } else if (example) latest.current(example);
      else if (query) latest.current({ query, variables: shared.get('variables') ?? '' });
      else return;
      // Reloading the page should keep the user's edits.
      history.replaceState(null, '', location.pathname);
    };
    void follow();
    const onHashChange = () => void follow();
    addEventListener('hashchange', onHashChange);
    return () => removeEventListener('hashchange', onHashChange);
  }, [isReady, schema]);
  return null;
}

import { TabFocus } from 'monaco-editor/esm/vs/editor/browser/config/tabFocus.js';
import EditorWorker from 'monaco-editor/esm/vs/editor/editor.worker.js?worker';
import JsonWorker from 'monaco-editor/esm/vs/language/json/json.worker.js?worker';
import GraphqlWorker from 'monaco-graphql/esm/graphql.worker.js?worker';

// Monaco looks up its worker threads here.
Object.assign(globalThis, {
  MonacoEnvironment: {
    getWorker: (_id: string, label: string) =>
      label === 'json' ? new JsonWorker() : label === 'graphql' ? new GraphqlWorker() : new EditorWorker(),
  },
});

// Tab moves to the next control, as everywhere else, so that keyboard users can leave the editor. Indentation
// is automatic or by Ctrl-].
TabFocus.setTabFocusMode(true);

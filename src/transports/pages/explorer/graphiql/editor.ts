import { TabFocus } from 'monaco-editor/esm/vs/editor/browser/config/tabFocus.js';

/** The paths of the editor's workers, defined by the bundler. */
declare const WORKERS: { editor: string; json: string; graphql: string };

// Monaco looks up its worker threads here.
Object.assign(globalThis, {
  MonacoEnvironment: {
    getWorker: (_id: string, label: string) =>
      new Worker(label === 'json' ? WORKERS.json : label === 'graphql' ? WORKERS.graphql : WORKERS.editor, {
        type: 'module',
      }),
  },
});

// Tab moves to the next control, as everywhere else, so that keyboard users can leave the editor. Indentation
// is automatic or by Ctrl-].
TabFocus.setTabFocusMode(true);

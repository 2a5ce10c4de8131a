import { TabFocus } from 'monaco-editor/esm/vs/editor/browser/config/tabFocus.js';

/** Set by the bundler: where the workers of the editor are. */
declare const WORKERS: { editor: string; json: string; graphql: string };

// Monaco looks here for the threads in which it parses.
Object.assign(globalThis, {
  MonacoEnvironment: {
    getWorker: (_id: string, label: string) =>
      new Worker(label === 'json' ? WORKERS.json : label === 'graphql' ? WORKERS.graphql : WORKERS.editor, {
        type: 'module',
      }),
  },
});

// Tab leads on to the next control, as everywhere: whoever has no mouse must get out of an editor. Lines are indented by
// themselves, or with Ctrl-].
TabFocus.setTabFocusMode(true);

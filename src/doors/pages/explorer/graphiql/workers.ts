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

import 'graphiql/setup-workers/vite';
import 'graphiql/style.css';
import '@graphiql/plugin-explorer/style.css';
import '../header.ts';
import './graphiql.css';
// @ts-expect-error -- It has no types.
import { TabFocus } from 'monaco-editor/esm/vs/editor/browser/config/tabFocus.js';
import { createRoot } from 'react-dom/client';
import { element, fixWhenAdded } from '../browser.ts';
import { App } from './app.tsx';

// Tab moves to the next control, as everywhere else, so that keyboard users can leave the editor. Indentation
// is automatic or by Ctrl-].
TabFocus.setTabFocusMode(true);

// The panel that builds operations leaves its controls without names.
fixWhenAdded({
  '.graphiql-explorer-root :is(input, select):not([aria-label])': (control) => {
    const unnamed = control.tagName === 'SELECT' ? 'Kind of operation' : 'Operation name';
    control.ariaLabel = control.closest<HTMLElement>('[data-arg-name]')?.dataset.argName ?? unnamed;
  },
});
createRoot(element('graphiql')).render(<App />);

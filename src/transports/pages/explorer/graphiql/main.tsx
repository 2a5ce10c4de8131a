import './editor.ts';
import 'graphiql/style.css';
import '@graphiql/plugin-explorer/style.css';
import '../pages.css';
import './graphiql.css';
import { createRoot } from 'react-dom/client';
import { fixAccessibility } from '../accessibility.ts';
import { initHeader } from '../header.ts';
import { App } from './app.tsx';

initHeader();
fixAccessibility([
  [
    '.graphiql-explorer-root :is(input, select):not([aria-label])',
    (control) => {
      const unnamed = control.tagName === 'SELECT' ? 'Kind of operation' : 'Operation name';
      control.ariaLabel = control.closest<HTMLElement>('[data-arg-name]')?.dataset.argName ?? unnamed;
    },
  ],
]);
createRoot(document.getElementById('graphiql')!).render(<App />);

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
    '.graphiql-explorer-root input:not([aria-label])',
    (input) => {
      input.ariaLabel = input.closest<HTMLElement>('[data-arg-name]')?.dataset.argName ?? 'Operation name';
    },
  ],
  [
    '.graphiql-explorer-root select:not([aria-label])',
    (select) => {
      select.ariaLabel =
        select.closest<HTMLElement>('[data-arg-name]')?.dataset.argName ?? 'Kind of operation';
    },
  ],
]);
createRoot(document.getElementById('graphiql')!).render(<App />);

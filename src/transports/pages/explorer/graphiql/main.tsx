import './editor.ts';
import 'graphiql/style.css';
import '../header.css';
import './graphiql.css';
import { createRoot } from 'react-dom/client';
import { initHeader } from '../header.ts';
import { App } from './app.tsx';

initHeader();
createRoot(document.getElementById('graphiql')!).render(<App />);

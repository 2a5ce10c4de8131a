import './editor.ts';
import 'graphiql/style.css';
import '../bar.css';
import './graphiql.css';
import { createRoot } from 'react-dom/client';
import { startBar } from '../bar.ts';
import { App } from './app.tsx';

startBar();
createRoot(document.getElementById('graphiql')!).render(<App />);

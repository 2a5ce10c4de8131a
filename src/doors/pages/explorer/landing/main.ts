import '../bar.css';
import './landing.css';
import { startBar } from '../bar.ts';

startBar();

import '../header.css';
import './landing.css';
import { initHeader } from '../header.ts';

initHeader();

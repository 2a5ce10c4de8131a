// Blocks rendering for one small, cached file, so that no page flashes in the wrong theme.
import { takeKey } from './key-link.ts';
import './theme.ts';

// Before any other script reads the address.
takeKey();

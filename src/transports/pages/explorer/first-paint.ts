// Blocks rendering for one small, cached file, so that no page flashes in the wrong theme.
import './theme.ts';

import { bundle } from '../../bundle.ts';

/** What the pages load in browsers, made of the sources as they are. */
export const setup = (): Promise<void> => bundle();

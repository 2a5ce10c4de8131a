import { bundle } from '../../bundle.ts';

/** The browser bundle, built from the current sources. */
export const setup = (): Promise<void> => bundle();

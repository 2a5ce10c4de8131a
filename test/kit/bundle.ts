import { bundle, bundlePrograms } from '../../bundle.ts';

/** The programs that tests start as processes and the scripts of the pages, built from the current sources. */
export const setup = (): Promise<unknown> => Promise.all([bundlePrograms(), bundle()]);

/** The URL of a script that sets the global `Scalar`, from the build (vite.config.ts). */
declare module 'scalar' {
  const url: string;
  export default url;
}

declare module '*.css';

declare module '*?worker' {
  export default class extends Worker {
    constructor();
  }
}

declare module 'monaco-editor/esm/vs/editor/browser/config/tabFocus.js' {
  export const TabFocus: { setTabFocusMode(value: boolean): void };
}

declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  const SwaggerUIBundle: import('./docs/swagger.ts').SwaggerUI;
  export default SwaggerUIBundle;
}

declare module '*.css';

declare module 'monaco-editor/esm/vs/editor/browser/config/tabFocus.js' {
  export const TabFocus: { setTabFocusMode(value: boolean): void };
}

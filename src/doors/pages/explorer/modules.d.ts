declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  const SwaggerUIBundle: import('./docs/swagger.ts').SwaggerUI;
  export default SwaggerUIBundle;
}

declare module '*.css';

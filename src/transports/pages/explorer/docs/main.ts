import 'swagger-ui-dist/swagger-ui.css';
import '../header.css';
import './docs.css';
import SwaggerUIBundle from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import { initHeader } from '../header.ts';
import { apiKey } from '../key.ts';
import { restOperations } from '../operations.ts';
import { accessibility, nameControls } from './accessibility.ts';
import { redactedCurl } from './curl.ts';
import { exactIntegers } from './exact-integers.ts';
import { networkErrors } from './network-errors.ts';
import { panels } from './panels.ts';

initHeader();

const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
followScheme();
dark.addEventListener('change', followScheme);

nameControls(document.getElementById('docs')!);

const exact = exactIntegers();
const operations = await restOperations();
const ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [
    panels(operations, document.body.dataset.graphiql === 'on'),
    exact.plugin,
    redactedCurl,
    accessibility,
    networkErrors,
  ],
  requestInterceptor: exact.requestInterceptor,
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  showCommonExtensions: true,
  tryItOutEnabled: false,
  validatorUrl: null,
  onComplete: () => authorize(),
});

/** Sends the page's key with every request, so that it is entered in one place. */
function authorize(): void {
  ui.preauthorizeApiKey('ApiKey', apiKey.value);
}
apiKey.subscribe(authorize);

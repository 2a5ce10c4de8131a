import 'swagger-ui-dist/swagger-ui.css';
import '../bar.css';
import './docs.css';
import SwaggerUIBundle from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import { startBar } from '../bar.ts';
import { apiKey } from '../key.ts';
import { restOperations } from '../operations.ts';
import { accessibility, nameControls } from './accessibility.ts';
import { keylessCurl } from './curl.ts';
import { exactness } from './exactness.ts';
import { failures } from './failures.ts';
import { panels } from './panels.ts';

startBar();

const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
followScheme();
dark.addEventListener('change', followScheme);

nameControls(document.getElementById('docs')!);

const exact = exactness();
const operations = await restOperations();
const ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [
    panels(operations, document.body.dataset.graphiql === 'on'),
    exact.plugin,
    keylessCurl,
    accessibility,
    failures,
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

/** Requests carry the key of the page: there is one place to enter it. */
function authorize(): void {
  ui.preauthorizeApiKey('ApiKey', apiKey.value);
}
apiKey.subscribe(authorize);

import { MCP_PATH } from '../../http/paths.ts';
import { escapeHtml } from './html.ts';

/**
 * The console: what a key may do, has used and receives. The script fills in the sections, each with what the key permits.
 *
 * @param basePath path prefix of the REST operations it calls
 * @param mcp whether agents are served
 */
export const consoleBody = (
  basePath: string,
  mcp: boolean,
): string => `<main id="main" class="console" tabindex="-1" data-base="${escapeHtml(basePath)}">
<h1>Console</h1>
<p id="hint">Enter an API key above to see what it may do, what it has used and what happens now. Nothing of another key is
shown, and what you enter stays in this browser.${
  mcp ? ` Agents use the same key at <code>${MCP_PATH}</code> (Model Context Protocol).` : ''
}</p>
<noscript>The console needs JavaScript. <code>GET ${escapeHtml(basePath)}/key</code> and
<code>GET ${escapeHtml(basePath)}/usage</code> return the same.</noscript>
<div id="sections"></div>
</main>`;

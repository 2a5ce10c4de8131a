import { asCurl, withoutKey } from '../curl.ts';
import type { Component, Immutable, System } from './swagger.ts';

interface LiveRequest {
  url: string;
  method: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Replaces Swagger UI's curl command, which would contain the key, with one that can be shared. */
export const redactedCurl = () => ({
  wrapComponents: {
    curl: (_: Component, { React, getComponent }: System) =>
      function RedactedCurl({ request }: { request: Immutable }) {
        const { createElement: h } = React;
        const { url, method, headers = {}, body } = request.toJS() as LiveRequest;
        const command = asCurl({
          method: method.toUpperCase(),
          url: new URL(url, location.href).href,
          headers: withoutKey(headers),
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        });
        return h(
          'div',
          { className: 'curl-command' },
          h('h4', null, 'curl'),
          h(
            getComponent('HighlightCode', true),
            { canCopy: true, language: 'bash', className: 'curl' },
            command,
          ),
        );
      },
  },
});

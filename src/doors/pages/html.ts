import { createHash } from 'node:crypto';
import type { Headers } from '../../http/exchange.ts';

/** Where a page may load from, beyond the nothing that it starts with (CSP level 3 directives). */
export type Sources = Record<string, string>;

/**
 * The headers of every HTML page: only what is named here may run or be loaded, nobody may frame it, and addresses don't
 * leak. Inline scripts run only if they are the ones that were written here.
 *
 * @param html its inline scripts are allowed by their digest
 */
export function pageHeaders(html: string, sources: Sources): Headers {
  const hashes = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, script]) => `'sha256-${createHash('sha256').update(script!).digest('base64')}'`,
  );
  const directives: Sources = {
    'default-src': "'none'",
    ...sources,
    'script-src': [sources['script-src'], ...hashes].filter(Boolean).join(' ') || "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  };
  return [
    'Content-Security-Policy',
    Object.entries(directives)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'Referrer-Policy',
    'no-referrer',
    'X-Frame-Options',
    'DENY',
    'Cross-Origin-Opener-Policy',
    'same-origin',
    'Cross-Origin-Resource-Policy',
    'same-origin',
  ];
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as HTML, in an element or in an attribute. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char]!);

export const HTML_TYPE = 'text/html; charset=utf-8';

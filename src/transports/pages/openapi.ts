import { LRUCache } from 'lru-cache';
import type { Config } from '../../config.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse } from '../../http/response.ts';
import { deploymentOf, openApiJson } from '../../openapi/document.ts';
import type { Route } from '../../rows/route.ts';
import { originOf } from './landing.ts';
import { TextPage } from './text-page.ts';

const PLACEHOLDER = 'http://origin.invalid';

/**
 * Serves the OpenAPI description, with the address that it was requested at as its server: tools that import it from a URL
 * need an absolute one. Callers choose the Host header, so the latest few are kept.
 */
export function openApiPage(
  config: Config,
  routes: readonly Route[],
): (context: RequestContext) => Promise<HttpResponse> {
  const pages = new LRUCache<string, TextPage>({ max: 4 });
  let text: string | undefined;
  return (context) => {
    const origin = originOf(context, config.TRUST_PROXY);
    const page =
      pages.get(origin) ??
      new TextPage('application/json', () => {
        text ??= openApiJson({ ...deploymentOf(config), origin: PLACEHOLDER }, undefined, routes);
        return text.replace(PLACEHOLDER, origin);
      });
    pages.set(origin, page);
    return page.handle(context);
  };
}

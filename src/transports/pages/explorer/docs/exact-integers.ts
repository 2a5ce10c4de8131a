import { parse } from 'lossless-json';
import { indentExactly } from '../exact-json.ts';
import type { Component, System } from './swagger.ts';

/** Reads integers beyond 2^53 as bigints, to which typed digits are compared exactly. */
const parseDescription = (text: string): unknown =>
  parse(text, undefined, {
    parseNumber: (literal) =>
      /^-?\d+$/.test(literal) && !Number.isSafeInteger(Number(literal)) ? BigInt(literal) : Number(literal),
  });

interface ExecuteRequest {
  pathName: string;
  method: string;
}

/**
 * Swagger UI parses all JSON into doubles. This plugin keeps every digit of an int64 in schema limits,
 * request bodies and displayed responses.
 */
export function exactIntegers() {
  /** The body about to be sent, as typed. */
  let typed: string | undefined;
  return {
    /** For Swagger UI's `requestInterceptor` option. */
    requestInterceptor: (request: { body?: unknown; loadSpec?: boolean }) => {
      if (!request.loadSpec && typed !== undefined && request.body !== undefined) request.body = typed;
      return request;
    },
    plugin: () => ({
      statePlugins: {
        spec: {
          wrapActions: {
            parseToJson:
              (original: (text: string) => unknown, system: System) =>
              (text: string): unknown => {
                if (!text.trimStart().startsWith('{')) return original(text);
                system.specActions.updateJsonSpec(parseDescription(text));
                return undefined;
              },
            executeRequest:
              (original: (request: ExecuteRequest) => unknown, system: System) =>
              (request: ExecuteRequest) => {
                const body = system.oas3Selectors.requestBodyValue(request.pathName, request.method);
                typed = typeof body === 'string' ? body : undefined;
                return original(request);
              },
          },
        },
      },
      wrapComponents: {
        responseBody: (Original: Component, { React }: System) =>
          function ExactResponseBody(props: {
            content: unknown;
            contentType?: string;
            getComponent: System['getComponent'];
          }) {
            const { content, contentType = '', getComponent } = props;
            if (typeof content !== 'string' || !/json/i.test(contentType))
              return React.createElement(Original, props);
            return React.createElement(
              'div',
              null,
              React.createElement('h5', null, 'Response body'),
              React.createElement(
                getComponent('HighlightCode', true),
                { language: 'json', downloadable: true, fileName: 'response.json', canCopy: true },
                indented(content),
              ),
            );
          },
      },
    }),
  };
}

function indented(content: string): string {
  try {
    return indentExactly(content);
  } catch {
    // Truncated or not JSON: shown unchanged.
    return content;
  }
}

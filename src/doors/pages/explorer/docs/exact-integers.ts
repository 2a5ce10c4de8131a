import { parse } from 'lossless-json';
import { indentExactly } from '../exact-json.ts';
import type { Component, System } from './swagger.ts';

/** An integer beyond 2^53 as a bigint; it compares with what people type digit by digit. */
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
 * Swagger UI reads all JSON into doubles. With this plugin the limits of the description, the bodies that are sent and the
 * answers that are shown keep every digit of an int64.
 */
export function exactIntegers() {
  /** The body that is about to be sent, as it was typed. */
  let typed: string | undefined;
  return {
    /** To be given to Swagger UI as `requestInterceptor`. */
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
    // Cut off or not JSON after all: shown as it came.
    return content;
  }
}

import type { RestOperation } from '../../rest-operation.ts';
import { LANGUAGES, type SampleRequest } from './samples.ts';
import type { Component, Immutable, System } from './swagger.ts';

const STABILITY = {
  beta: 'Details may change within version 1.',
  experimental: 'May change or disappear at any time.',
} as Record<string, string>;

const operationAt = (system: System, path: string, method: string) =>
  system.specSelectors.specJson().getIn(['paths', path, method]) as Immutable | undefined;

/**
 * Adds what Swagger UI does not show: stability and sunset of an operation, why it cannot be tried, request
 * samples in several languages, and the equivalent GraphQL operation.
 */
export const panels = (operations: readonly RestOperation[], hasGraphiql: boolean) => () => ({
  statePlugins: {
    spec: {
      wrapSelectors: {
        allowTryItOutFor:
          (original: (state: unknown, path: string, method: string) => boolean, system: System) =>
          (state: unknown, path: string, method: string) =>
            original(state, path, method) &&
            operationAt(system, path, method)?.get('x-explorer-enabled') !== false,
      },
    },
  },
  wrapComponents: {
    // All responses share a handful of headers. Collapsed, they do not hide the responses.
    headers:
      (Original: Component, { React }: System) =>
      (props: { headers?: { size: number } }) =>
        props.headers?.size
          ? React.createElement(
              'details',
              { className: 'response-headers' },
              React.createElement('summary', null, `${props.headers.size} headers`),
              React.createElement(Original, props),
            )
          : null,
    OperationSummaryPath: (Original: Component, system: System) => summary(Original, system),
    parameters: (Original: Component, system: System) =>
      function ParametersWithReason(props: { pathMethod: [string, string] }) {
        const { createElement: h, Fragment } = system.React;
        const isEnabled = operationAt(system, ...props.pathMethod)?.get('x-explorer-enabled') !== false;
        return h(
          Fragment,
          null,
          !isEnabled &&
            h(
              'p',
              { className: 'not-tried' },
              'The specification disables the try-it panel for this operation. Use the request sample below instead.',
            ),
          h(Original, props),
        );
      },
    responses: (Original: Component, system: System) =>
      function ResponsesWithSamples(props: { path: string; method: string }) {
        const { createElement: h, Fragment } = system.React;
        const operation = operations.find(({ operationId }) => {
          const id = operationAt(system, props.path, props.method)?.get('operationId');
          return operationId === id;
        });
        return h(
          Fragment,
          null,
          operation && h(Samples(system), { request: requestOf(system, props, operation) }),
          operation && h(Graphql(system), { operation, hasGraphiql }),
          h(Original, props),
        );
      },
  },
});

function summary(Original: Component, system: System): Component {
  const { createElement: h, Fragment } = system.React;
  const badge = (kind: string, text: string, title: string) =>
    h('span', { key: kind, className: `lifecycle lifecycle-${kind}`, title }, text);
  return (props: { operationProps: Immutable }) => {
    const { operationProps } = props;
    const operation = operationAt(
      system,
      operationProps.get('path') as string,
      operationProps.get('method') as string,
    );
    const stability = String(operation?.get('x-stability'));
    const sunset = operation?.get('x-sunset');
    return h(
      Fragment,
      null,
      h(Original, props),
      STABILITY[stability] ? badge(stability, stability, STABILITY[stability]) : null,
      operation?.get('deprecated')
        ? badge(
            'deprecated',
            sunset ? `deprecated, sunset ${sunset}` : 'deprecated',
            'Do not use in new code.',
          )
        : null,
    );
  };
}

/** The request for the samples, built from the examples in the description. */
function requestOf(
  system: System,
  { path, method }: { path: string; method: string },
  operation: RestOperation,
): SampleRequest {
  const described = operationAt(system, path, method);
  const body = described?.getIn(['requestBody', 'content', 'application/json', 'example']) as
    | Immutable
    | undefined;
  return {
    method: operation.method,
    url: `${location.origin}${operation.path.replaceAll(/\{\w+\}/g, '1')}`,
    body: body && JSON.stringify(body.toJS()),
  };
}

/** Creates a component once. A new component on every render would lose its state. */
const memoize = <T>(make: (system: System) => T) => {
  let made: T | undefined;
  return (system: System): T => {
    made ??= make(system);
    return made;
  };
};

const Samples = memoize(
  ({ React, getComponent }: System) =>
    function Samples({ request }: { request: SampleRequest }) {
      const { createElement: h, useState } = React;
      const [language, setLanguage] = useState(LANGUAGES[0]!);
      const HighlightCode = getComponent('HighlightCode', true);
      return h(
        'section',
        { className: 'samples', 'aria-label': 'Request samples' },
        h('h4', null, 'Request samples'),
        h(
          'div',
          { className: 'languages' },
          LANGUAGES.map((one) =>
            h(
              'button',
              {
                key: one.name,
                type: 'button',
                'aria-pressed': one === language,
                onClick: () => setLanguage(one),
              },
              one.name,
            ),
          ),
        ),
        h(HighlightCode, { canCopy: true, language: 'text' }, language.write(request)),
      );
    },
);

const Graphql = memoize(
  ({ React, getComponent }: System) =>
    function Graphql({ operation, hasGraphiql }: { operation: RestOperation; hasGraphiql: boolean }) {
      const { createElement: h } = React;
      const HighlightCode = getComponent('HighlightCode', true);
      return h(
        'details',
        { className: 'graphql' },
        h('summary', null, 'The same in GraphQL'),
        hasGraphiql &&
          h(
            'a',
            { className: 'open-graphiql', href: `/graphql#operation=${operation.operationId}` },
            'Open in GraphiQL',
          ),
        h(HighlightCode, { canCopy: true, language: 'text' }, operation.document),
      );
    },
);

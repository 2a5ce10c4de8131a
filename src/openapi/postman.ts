/** The parts of a parameter in the description that are read. */
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  description: string;
  example?: unknown;
  examples?: { sent: { value: unknown } };
  required?: boolean;
}

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: [string];
  parameters: ({ $ref: string } | Parameter)[];
  requestBody?: { content: Record<string, { example?: object }> };
  responses: Record<string, unknown>;
}

/** The parts of the description (`document.ts`) that are read. */
interface Description {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, Parameter> };
}

interface Request extends Operation {
  method: string;
  path: string;
  parameters: Parameter[];
  /** The path parameter of the record that it creates. */
  created: string | undefined;
}

/**
 * A Postman collection (https://schema.getpostman.com/json/collection/v2.1.0/collection.json) of all operations in the
 * folders of their tags, for Postman, newman and tools that import their format. It runs from top to bottom on a
 * server with sample data, and reads, changes and deletes the records that it creates. Of its variables only `key` has
 * to be set.
 *
 * @param openApi the description as JSON
 * @param baseUrl where the gateway is
 */
export function postmanJson(openApi: string, baseUrl: string): string {
  const { tags, paths, components } = JSON.parse(openApi) as Description;
  const requests = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): Request => ({
      ...operation,
      method: method.toUpperCase(),
      path,
      created: '201' in operation.responses ? namedBelow(path, Object.keys(paths)) : undefined,
      parameters: operation.parameters.map((parameter) =>
        '$ref' in parameter ? components.parameters[parameter.$ref.split('/').at(-1)!]! : parameter,
      ),
    })),
  );
  const inPaths = Object.values(components.parameters).filter((parameter) => parameter.in === 'path');
  const variable = [
    { key: 'baseUrl', value: baseUrl },
    { key: 'key', value: '' },
    ...inPaths.map(({ name, example }) => ({ key: name, value: String(example) })),
  ];
  const names = variable.map(({ key }) => key);
  const folders = tags.map(({ name }) => inOrder(requests.filter(({ tags: [tag] }) => tag === name)));
  const jumps = jumpsOf(folders);
  return JSON.stringify(
    {
      info: {
        name: 'Petstore',
        description: 'Set the variable `key` to an API key. What is optional is switched off.',
        schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
      },
      auth: authBy('key'),
      variable,
      item: tags.map(({ name, description }, n) => ({
        name,
        description,
        item: folders[n]!.map((request) => item(request, names, jumps.get(request))),
      })),
    },
    undefined,
    2,
  );
}

/** The path parameter of the records of a list. */
const namedBelow = (path: string, paths: readonly string[]): string | undefined =>
  paths
    .filter((other) => other.startsWith(`${path}/`))
    .map((other) => other.slice(path.length))
    .flatMap((rest) => /^\/\{(\w+)\}$/.exec(rest)?.[1] ?? [])[0];

const authBy = (name: string) => ({
  type: 'apikey',
  apikey: [
    { key: 'key', value: 'X-API-Key' },
    { key: 'value', value: `{{${name}}}` },
    { key: 'in', value: 'header' },
  ],
});

/** The records that a request is about: `pets`; `key` for `/key` and `/keys`. */
const subjectOf = ({ path }: Request): string => path.replace('/store', '').split('/')[1]!.replace(/s$/, '');

const idsIn = (example: object | undefined): number =>
  Object.keys(example ?? {}).filter((name) => name.endsWith('Id')).length;

const exampleOf = ({ requestBody }: Operation): object | undefined =>
  Object.values(requestBody?.content ?? {})[0]?.example;

/** Records are created after those that they refer to, and deleted in the reverse order after everything else. */
function inOrder(requests: readonly Request[]): readonly Request[] {
  const isCreation = ({ created }: Request) => created !== undefined;
  const subjects = [...new Set(requests.map(subjectOf))];
  const idsOf = (subject: string) =>
    idsIn(
      requests.filter((request) => subjectOf(request) === subject && isCreation(request)).map(exampleOf)[0],
    );
  const ordered = subjects
    .toSorted((a, b) => idsOf(a) - idsOf(b))
    .flatMap((subject) =>
      requests
        .filter((request) => subjectOf(request) === subject)
        .toSorted((a, b) => Number(isCreation(b)) - Number(isCreation(a))),
    );
  return [...ordered.filter((request) => !isDeletion(request)), ...ordered.filter(isDeletion).reverse()];
}

const isDeletion = ({ method }: Request): boolean => method === 'DELETE';

/**
 * The requests after which a runner goes on elsewhere than with the next one, and the name of the one that follows; null
 * for the end. Requests of a later folder need the records of an earlier one, so all deletions come last.
 */
function jumpsOf(folders: readonly (readonly Request[])[]): ReadonlyMap<Request, string | null> {
  const written = folders.flat();
  const run = [
    ...written.filter((request) => !isDeletion(request)),
    ...folders.toReversed().flatMap((requests) => requests.filter(isDeletion)),
  ];
  const jumps = new Map<Request, string | null>();
  for (const [n, request] of run.entries())
    if (run[n + 1] !== written[written.indexOf(request) + 1]) jumps.set(request, run[n + 1]?.summary ?? null);
  return jumps;
}

function item(request: Request, variables: readonly string[], next: string | null | undefined) {
  const { operationId, method, path, summary, description, parameters } = request;
  const example = exampleOf(request);
  const parametersIn = (place: Parameter['in']) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, description, required, examples, example = examples?.sent.value ?? '' }) => ({
        key: name,
        value: name === 'Idempotency-Key' ? '{{$guid}}' : String(example),
        description,
        ...(!required && { disabled: true }),
      }));
  const base = `{{baseUrl}}${path.replace(/\{(\w+)\}/g, '{{$1}}')}`;
  const query = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
  const raw = [base, query.map(({ name, example }) => `${name}=${example}`).join('&')]
    .filter(Boolean)
    .join('?');
  const isStream = operationId === 'streamEvents';
  return {
    name: isStream ? `${summary} (its head; GET follows)` : summary,
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: testsOf(request, next) } }],
    request: {
      // A runner would wait for its end, which never comes.
      method: isStream ? 'HEAD' : method,
      description,
      // The key of the run keeps working.
      ...(operationId === 'rotateKey' && { auth: authBy('childKey') }),
      header: [
        ...(example ? [{ key: 'Content-Type', value: 'application/json' }] : []),
        ...parametersIn('header'),
      ],
      url: { raw, host: ['{{baseUrl}}'], path: base.split('/').slice(1), query: parametersIn('query') },
      ...(example && {
        body: {
          mode: 'raw',
          raw: JSON.stringify(example, undefined, 2).replace(/"(\w+)": 1\b/g, (text, name: string) =>
            variables.includes(name) ? `"${name}": {{${name}}}` : text,
          ),
          options: { raw: { language: 'json' } },
        },
      }),
    },
    response: [],
  };
}

/**
 * Expects the status of success, and keeps the id of the created record for the requests that follow.
 *
 * @param next the name of the request that a runner goes on with, if it isn't the next one; null for none
 */
function testsOf(
  { operationId, method, responses, parameters, created }: Request,
  next: string | null | undefined,
): string[] {
  const [status] = Object.keys(responses);
  const tests = [`pm.test('answers ${status}', () => pm.response.to.have.status(${status}));`];
  const set = (name: string, value: string) => `pm.collectionVariables.set('${name}', String(${value}));`;
  if (created !== undefined) tests.push(set(created, 'pm.response.json().id'));
  if (operationId === 'createKey') tests.push(set('childKey', 'pm.response.json().key'));
  const [named] = parameters.filter((parameter) => parameter.in === 'path');
  if (method === 'DELETE') tests.push(set(named!.name, JSON.stringify(named!.example)));
  if (next !== undefined) tests.push(`pm.execution.setNextRequest(${JSON.stringify(next)});`);
  return tests;
}

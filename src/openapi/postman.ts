/** The relevant parts of a parameter in the description. */
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

/** The relevant parts of the description (`document.ts`). */
interface Description {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, Parameter> };
}

interface Request extends Operation {
  method: string;
  path: string;
  parameters: Parameter[];
  /** The path parameter of the record that the request creates. */
  created: string | undefined;
}

/**
 * A Postman collection (https://schema.getpostman.com/json/collection/v2.1.0/collection.json) of all operations, in a
 * folder per tag, for Postman, newman and tools that import the format. It runs from top to bottom on a server with
 * sample data, and reads, changes and deletes the records that it creates. Only the variable `key` must be set.
 *
 * @param openApi the OpenAPI description as JSON
 * @param baseUrl the URL of the gateway
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

/** The path parameter of the records in a list. */
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

/** The subject of a request: `pet` for `/pets`; `key` for `/key` and `/keys`. */
const subjectOf = ({ path }: Request): string => path.replace('/store', '').split('/')[1]!.replace(/s$/, '');

const idsIn = (example: object | undefined): number =>
  Object.keys(example ?? {}).filter((name) => name.endsWith('Id')).length;

const exampleOf = ({ requestBody }: Operation): object | undefined =>
  Object.values(requestBody?.content ?? {})[0]?.example;

/** Sorts requests: records are created after those they refer to, and deleted last, in reverse order. */
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
 * The requests that a runner doesn't continue in order after, with the name of the request to continue with; null for
 * the end. All deletions run last, since later folders need the records of earlier ones.
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
      // A runner would wait forever for the end of a stream.
      method: isStream ? 'HEAD' : method,
      description,
      // Rotates another key than that of the run.
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
 * A test script that expects success and stores the id of a created record for later requests.
 *
 * @param next the name of the request to continue with, unless it is the next one; null for the end
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

import { integer, optional } from '../foundation/fields.ts';
import { MAX_INT32 } from '../foundation/id.ts';
import { MAX_GROUPS } from '../foundation/meter.ts';
import { type Inputs, inputFields, newRules, patchRules } from '../foundation/record-input.ts';
import { type AnyDeclaration, boundNames, type Fields, groupedFields } from '../foundation/record.ts';
import { restDialect } from '../foundation/validation.ts';
import { capitalised, indefinite, grouped } from '../foundation/words.ts';
import { byParameter, filterParameter, listParameters, type QueryParameter } from './parameter.ts';
import type { Route } from './route.ts';
import { declaredShape, pageSelection, type Shape, selectionOf } from './shape.ts';

/**
 * The query of a list. Each parameter is a variable; all but those for paging form the filter.
 *
 * @param list the GraphQL field of the list
 */
export function listQuery(list: string, shape: Shape, query: readonly QueryParameter[]) {
  return {
    variables: variablesOf(query),
    page: `page: ${list}(${filterOf(query)}sort: $sort, first: $limit, after: $after) ${pageSelection(shape)}`,
  };
}

const PAGING = ['sort', 'limit', 'after'];

/** The shape of the count of a group of records. */
const countShape = ({ type, plural, fields }: AnyDeclaration, groups: readonly string[]): Shape =>
  declaredShape({
    type: `${type}Count`,
    listName: `${type}Counts`,
    listDescription: 'The groups that there are, in the order of their values.',
    description: `How many ${plural} have the same values of what they are counted by.`,
    fields: {
      ...Object.fromEntries(groups.map((name) => [name, optional((fields as Fields)[name]!)])),
      count: integer(1, MAX_INT32, `How many ${plural}`, 3),
    },
  });

/** The operation that counts records by values. */
function countsRoute(declaration: AnyDeclaration, { tag, path }: Route, query: readonly QueryParameter[]) {
  const { plural, kind } = declaration;
  const groups = groupedFields(declaration);
  if (groups.length === 0) return undefined;
  const shape = countShape(declaration, groups);
  const all = [byParameter(declaration), ...query.filter(({ name }) => !PAGING.includes(name))];
  return {
    tag,
    kind,
    shape,
    method: 'GET',
    status: 200,
    list: 'whole',
    stability: 'beta',
    query: all,
    operationId: `count${capitalised(plural)}`,
    path: `${path}/counts`,
    summary: `Count ${plural} by their values`,
    description: `One entry for each group that there is, at most ${grouped(MAX_GROUPS)}, in the order of their values.`,
    document: `query count${capitalised(plural)}(${variablesOf(all)}) {
      page: ${kind}Counts(by: $by, ${filterOf(all.slice(1))}) ${selectionOf(shape)}
    }`,
  } satisfies Route;
}

const variablesOf = (query: readonly QueryParameter[]): string =>
  query.map(({ name, type }) => `$${name}: ${type}`).join(', ');

/** The argument `filter` with a trailing separator; empty if the list has no filters. */
function filterOf(query: readonly QueryParameter[]): string {
  const conditions = query
    .filter(({ name, bounds }) => !PAGING.includes(name) && bounds === undefined)
    .map(({ name }) => `${name}: $${name}`);
  for (const field of new Set(query.flatMap(({ bounds = [] }) => bounds))) {
    const [min, max] = boundNames(field);
    conditions.push(`${field}: { min: $${min}, max: $${max} }`);
  }
  return conditions.length > 0 ? `filter: { ${conditions.join(', ')} }, ` : '';
}

/** Settings of REST operations besides the declaration. */
export interface RouteOptions extends Pick<Route, 'tag'>, Partial<Pick<Route, 'path' | 'stability'>> {
  /** An example of a merge patch. */
  example: Readonly<Record<string, unknown>>;
  /** Descriptions of filters, by names such as `?status`. */
  descriptions?: Readonly<Record<string, string>>;
}

/** The REST operations of a record; `counts` only if records can be grouped. */
export type RecordRoutes = ReturnType<typeof resourceRoutes> & { counts?: Route };

/** The REST operations of a record, derived from its declaration and the names of its GraphQL fields. */
export function recordRoutes(declaration: AnyDeclaration, shape: Shape, options: RouteOptions): RecordRoutes {
  const filters = declaration.filters.map((name: string) =>
    filterParameter(declaration, name, options.descriptions?.[`?${name}`]),
  );
  const query = [...filters, ...listParameters(declaration)];
  const routes = resourceRoutes({ ...declaration, fields: inputFields(declaration) }, shape, {
    ...options,
    query,
  });
  const counts = countsRoute(declaration, routes.list, query);
  return counts ? { ...routes, counts } : routes;
}

/** The REST operations of a record, or of a type that isn't stored as one, with common CRUD routes. */
export function resourceRoutes(
  { kind, plural, type, choosesId, fields, changeable = fields }: Inputs,
  shape: Shape,
  {
    tag,
    path = `/${plural}`,
    pathValue,
    stability = 'stable',
    query,
    example,
  }: RouteOptions & Pick<Route, 'pathValue'> & { query: readonly QueryParameter[] },
) {
  const id = `${kind}Id`;
  const selection = selectionOf(shape);
  const list = listQuery(plural, shape, query);
  const common = { tag, kind, stability, path, status: 200, shape } as const;
  const one = {
    ...common,
    path: `${path}/{${id}}`,
    pathParameter: id,
    ...(pathValue && { pathValue }),
  } as const;
  const { shape: _, ...bare } = one;
  const body = { name: `New${type}`, rules: newRules(fields, restDialect, choosesId) };
  const update = `mutation update${type}($${id}: ID!, $input: ${type}Patch!) {
    result: update${type}(id: $${id}, input: $input) ${selection}
  }`;
  return {
    list: {
      ...common,
      operationId: `list${capitalised(plural)}`,
      method: 'GET',
      summary: `List ${plural}`,
      document: `query list${capitalised(plural)}(${list.variables}) { ${list.page} }`,
      list: 'pages',
      query,
    },
    create: {
      ...common,
      operationId: `create${type}`,
      method: 'POST',
      summary: `Create ${indefinite(kind)}`,
      document: `mutation create${type}($input: New${type}!) { result: create${type}(input: $input) ${selection} }`,
      status: 201,
      body,
    },
    get: {
      ...one,
      operationId: `get${type}`,
      method: 'GET',
      summary: `Get ${indefinite(kind)}`,
      document: `query get${type}($${id}: ID!) { result: ${kind}(id: $${id}) ${selection} }`,
    },
    replace: {
      ...one,
      operationId: `replace${type}`,
      method: 'PUT',
      summary: `Replace ${indefinite(kind)}`,
      document: update,
      body,
    },
    update: {
      ...one,
      operationId: `update${type}`,
      method: 'PATCH',
      stability: 'beta',
      summary: `Update ${indefinite(kind)}`,
      document: update,
      body: { name: `${type}Patch`, rules: patchRules(changeable, restDialect), example },
    },
    delete: {
      ...bare,
      operationId: `delete${type}`,
      method: 'DELETE',
      summary: `Delete ${indefinite(kind)}`,
      document: `mutation delete${type}($${id}: ID!) { deleted: delete${type}(id: $${id}) }`,
      status: 204,
    },
  } satisfies Record<string, Route>;
}

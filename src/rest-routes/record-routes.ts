import { type Inputs, inputFields, newRules, patchRules } from '../foundation/record-input.ts';
import { type AnyRecord, boundNames } from '../foundation/record.ts';
import { restDialect } from '../foundation/validation.ts';
import { capitalised, indefinite } from '../foundation/words.ts';
import { filterParameter, listParameters, type QueryParameter } from './parameter.ts';
import type { Route } from './route.ts';
import { pageSelection, type Shape, selectionOf } from './shape.ts';

/**
 * The query of a list: each of its parameters is a variable, and those that aren't about pages form its filter.
 *
 * @param list its GraphQL field
 */
export function listSelection(list: string, shape: Shape, query: readonly QueryParameter[]) {
  const paging = ['sort', 'limit', 'after'];
  const conditions = query
    .filter(({ name, bounds }) => !paging.includes(name) && bounds === undefined)
    .map(({ name }) => `${name}: $${name}`);
  for (const field of new Set(query.flatMap(({ bounds = [] }) => bounds))) {
    const [min, max] = boundNames(field);
    conditions.push(`${field}: { min: $${min}, max: $${max} }`);
  }
  const filter = conditions.length > 0 ? `filter: { ${conditions.join(', ')} }, ` : '';
  return {
    variables: query.map(({ name, type }) => `$${name}: ${type}`).join(', '),
    page: `page: ${list}(${filter}sort: $sort, first: $limit, after: $after) ${pageSelection(shape)}`,
  };
}

/** Settings of REST operations that a declaration doesn't contain. */
export interface RouteOptions extends Pick<Route, 'tag'>, Partial<Pick<Route, 'path' | 'stability'>> {
  /** A merge patch. */
  example: Readonly<Record<string, unknown>>;
  /** Descriptions of its filters, as `?status`. */
  descriptions?: Readonly<Record<string, string>>;
}

/** The REST operations of a record. */
export type RecordRoutes = ReturnType<typeof resourceRoutes>;

/** The REST operations of a record, as its declaration and the names of its GraphQL fields give them. */
export const recordRoutes = (record: AnyRecord, shape: Shape, options: RouteOptions): RecordRoutes =>
  resourceRoutes({ ...record, fields: inputFields(record) }, shape, {
    ...options,
    query: [
      ...record.filters.map((name: string) =>
        filterParameter(record, name, options.descriptions?.[`?${name}`]),
      ),
      ...listParameters(record),
    ],
  });

/** The same for a type that isn't a record of a store. */
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
  const list = listSelection(plural, shape, query);
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

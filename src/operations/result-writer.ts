import { type GraphQLOutputType, isListType, isNonNullType, isObjectType } from 'graphql';
import { listOf, objectOf, type Property, type WriteJson, writeAny } from '../kit/json-writer.ts';
import type { SelectedField, Selection } from './selection.ts';

/** Creates a writer of the JSON of results without errors: `{ data }`. */
export const resultWriter = (selection: Selection): WriteJson =>
  objectOf([{ name: 'data', write: objectOf(selection.map(property)) }]);

const property = ({ key, definition, subselections }: SelectedField): Property => ({
  name: key,
  write: writerOf(definition.type, subselections),
});

function writerOf(type: GraphQLOutputType, subselections: SelectedField['subselections']): WriteJson {
  if (isNonNullType(type)) return writerOf(type.ofType, subselections);
  if (isListType(type)) return listOf(writerOf(type.ofType, subselections));
  // Which type an object of an interface has cannot be seen from what was selected of it.
  return isObjectType(type) ? objectOf(subselections.get(type)!.map(property)) : writeAny;
}

import { AppError } from '../../foundation/errors.ts';
import { readBody } from '../../http/body.ts';
import { parseJson } from '../../http/json.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { textsIn } from '../input.ts';

/** Media types of a request body. */
export const BODY_TYPES = ['application/json', 'application/graphql+json'];

/**
 * Reads a request body without rounding integers.
 *
 * @throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST
 */
export async function readParameters(context: RequestContext): Promise<unknown> {
  if (context.headers['content-type'] === undefined && context.method === 'QUERY') {
    // The meaning of a QUERY depends on its media type, so it must have one (RFC 10008). A POST defaults to
    // JSON.
    throw new AppError('BAD_REQUEST', `A QUERY needs a Content-Type: ${BODY_TYPES.join(' or ')}.`);
  }
  const body = await readBody(context, BODY_TYPES);
  return parseJson(body, undefined, ' A request is {"query": "{ pets { nodes { id } } }"}.');
}

/** Whether a part of a query string is a parameter or has to be decoded, which takes long for thousands. */
const isOfUse = (part: string): boolean =>
  /%|^(?:query|documentId|operationName|variables|extensions)=/.test(part);

/**
 * Reads the parameters of a URL without rounding integers.
 *
 * @throws BAD_REQUEST if the percent-encoding is broken, or variables or extensions are not JSON
 */
export function readQueryString(query: string): Record<string, unknown> {
  const given = textsIn(query.split('&').filter(isOfUse));
  const text = (name: string) => given.get(name)?.[0];
  const json = (name: string) => {
    const value = text(name);
    return value ? parseJson(Buffer.from(value), `The parameter ${name}`) : undefined;
  };
  return {
    query: text('query'),
    documentId: text('documentId'),
    operationName: text('operationName'),
    variables: json('variables'),
    extensions: json('extensions'),
  };
}

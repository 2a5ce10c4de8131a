import { Ajv, type AnySchema, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import type { Reply } from './gateway.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- a description is looked into wherever a test needs it
type Node = any;

/** Headers added by HTTP and Node that are not part of the API. */
const TRANSPORT = new Set(['connection', 'content-length', 'content-type', 'date', 'keep-alive']);
const ALWAYS = new Set([...TRANSPORT, 'x-content-type-options']);

/** Compares responses with an OpenAPI description. */
export class Description {
  readonly document: Node;
  readonly #ajv: Ajv;
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(json: string) {
    this.document = JSON.parse(json);
    this.#ajv = new Ajv({ strict: false, allErrors: true });
    formats.default(this.#ajv);
    this.#ajv.addSchema(this.document, 'openapi.json');
  }

  /** Every operation with its location in the document. */
  operations(): { operationId: string; path: string; method: string; operation: Node }[] {
    return Object.entries<Node>(this.document.paths).flatMap(([path, item]) =>
      Object.entries<Node>(item).map(([method, operation]) => ({
        operationId: operation.operationId,
        path,
        method,
        operation,
      })),
    );
  }

  /** The response described for a status. */
  response(operationId: string, status: number): Node {
    const described = this.operations().find((operation) => operation.operationId === operationId);
    return this.resolve(described?.operation.responses[status]);
  }

  resolve(node: Node): Node {
    if (node?.$ref === undefined) return node;
    const parts = (node.$ref as string).slice(2).split('/');
    return parts.reduce((at, part) => at?.[part], this.document);
  }

  /** The violations of a schema by a value. */
  violations(schema: AnySchema, value: unknown): string[] {
    const text = JSON.stringify(schema).replaceAll('"#/', '"openapi.json#/');
    let validate = this.#validators.get(text);
    if (!validate) {
      validate = this.#ajv.compile(JSON.parse(text) as AnySchema);
      this.#validators.set(text, validate);
    }
    return validate(value)
      ? []
      : validate.errors!.map(({ instancePath, message }) => `${instancePath || 'value'} ${message}`);
  }

  /** Every difference between a response and its description. */
  differences(operationId: string, { status, headers, text, json }: Reply): string[] {
    const response = this.response(operationId, status);
    if (!response) return [`${operationId} does not describe ${status}`];
    const differences: string[] = [];
    const described = new Map<string, Node>(
      Object.entries(response.headers ?? {}).map(([name, header]) => [
        name.toLowerCase(),
        this.resolve(header),
      ]),
    );
    for (const [name, header] of described) {
      const value = headers[name];
      if (value === undefined) {
        if (header.required) differences.push(`${name} is missing`);
        continue;
      }
      const typed = header.schema.type === 'integer' ? Number(value) : value;
      differences.push(...this.violations(header.schema, typed).map((violation) => `${name}: ${violation}`));
    }
    for (const name of Object.keys(headers)) {
      if (!described.has(name) && !ALWAYS.has(name)) differences.push(`${name} is not described`);
    }
    const [[type, media] = []] = Object.entries<Node>(response.content ?? {});
    if (type !== headers['content-type']) differences.push(`content-type is not ${type}`);
    // A stream has no schema.
    if (media?.schema)
      differences.push(...this.violations(media.schema, json).map((violation) => `body: ${violation}`));
    else if (!media && text !== '') differences.push('there is a body');
    return differences;
  }
}

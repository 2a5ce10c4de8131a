type Json = Record<string, unknown>;

interface Description {
  paths: Record<string, Record<string, Json>>;
  components: { parameters: Record<string, Json> };
}

/**
 * Prepares the OpenAPI description for people, with exact limits, badges for stability and sunset, and a link to the
 * same operation in GraphiQL.
 *
 * @param text the OpenAPI description as JSON
 * @param linkTo returns the link to GraphiQL for an operationId
 * @returns the description to show, and the operationIds without a try-it panel
 */
export function referenceOf(text: string, linkTo: (operationId: string) => string | undefined) {
  const content = JSON.parse(text, limitInWords) as Description;
  const operations = Object.values(content.paths).flatMap((methods) => Object.values(methods));
  // Examples would be sent, and the same Idempotency-Key makes a second call a replay.
  for (const parameter of Object.values(content.components.parameters)) delete parameter.examples;
  const untried: string[] = [];
  for (const operation of operations) {
    const operationId = String(operation.operationId);
    const { 'x-stability': stability, 'x-sunset': sunset, 'x-explorer-enabled': isTried = true } = operation;
    operation['x-badges'] = [
      ...(stability === 'stable' ? [] : [{ name: stability, color: '#6929c4' }]),
      ...(sunset === undefined ? [] : [{ name: `sunset ${sunset}`, color: '#a2191f' }]),
    ];
    if (!isTried) untried.push(operationId);
    const link = linkTo(operationId);
    operation.description = [
      !isTried &&
        '**The specification disables the try-it panel for this operation. Use a request sample instead.**',
      operation.description,
      link && `[Open in GraphiQL](${link})`,
    ]
      .filter(Boolean)
      .join('\n\n');
  }
  return { content, untried };
}

/** A `JSON.parse` reviver that moves the limit of int64 to the description, because it would be rounded. */
function limitInWords(this: Json, name: string, value: unknown): unknown {
  if (name !== 'maximum' || Number.isSafeInteger(value)) return value;
  const limit = `Up to ${2n ** 63n - 1n}.`;
  this.description = this.description === undefined ? limit : `${this.description}. ${limit}`;
  return undefined;
}

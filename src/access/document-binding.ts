/** The list that a key is bound to. */
export function bindingOf(documents: string): { list: string; isStrict: boolean } {
  const isStrict = !documents.startsWith('report:');
  return { list: isStrict ? documents : documents.slice('report:'.length), isStrict };
}

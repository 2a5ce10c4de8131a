/**
 * Whether an Accept header (RFC 9110 section 12.5.1) takes one of the media types. The most specific range decides; q=0
 * refuses; a missing or empty header takes anything.
 */
export function accepts(header: string | undefined, types: readonly string[]): boolean {
  if (header === undefined || header.trim() === '' || header === '*/*' || types.includes(header)) return true;
  const ranges = header.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    return { range, quality: Number.isNaN(quality) ? 0 : quality };
  });
  return types.some((type) => {
    const family = `${type.slice(0, type.indexOf('/'))}/*`;
    const match =
      ranges.find(({ range }) => range === type) ??
      ranges.find(({ range }) => range === family) ??
      ranges.find(({ range }) => range === '*/*');
    return match !== undefined && match.quality > 0;
  });
}

/**
 * Whether a body of this Content-Type can be read as one of the media types in UTF-8. A missing header counts as JSON
 * (contract section 2).
 */
export function isReadable(header: string | undefined, types: readonly string[]): boolean {
  if (header === undefined || header === types[0]) return true;
  const [type = '', ...parameters] = header.split(';').map((text) => text.trim().toLowerCase());
  if (!types.includes(type)) return false;
  return parameters.every(
    (parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter),
  );
}

/** A media range of an Accept header, or the media type of a Content-Type header, in lower case. */
export interface MediaRange {
  type: string;
  /** Without `q`; values are unquoted. */
  parameters: ReadonlyMap<string, string>;
  /** 1 if absent, 0 if excluded or malformed. */
  quality: number;
}

/** Parses the media ranges of a header (RFC 9110 section 12.5.1). */
export function parseMediaRanges(header: string): MediaRange[] {
  return header.split(',').map((part) => {
    const [type = '', ...rest] = part.split(';').map((text) => text.trim().toLowerCase());
    const parameters = new Map(
      rest.map((parameter): [string, string] => {
        const [name = '', value = ''] = parameter.split('=', 2).map((text) => text.trim());
        return [name, value.replace(/^"(.*)"$/, '$1')];
      }),
    );
    const weight = parameters.get('q');
    parameters.delete('q');
    const quality = weight === undefined ? 1 : Number(weight);
    return { type, parameters, quality: Number.isNaN(quality) ? 0 : quality };
  });
}

/**
 * Whether an Accept header allows one of the media types (RFC 9110 section 12.5.1). The most specific range
 * wins, q=0 excludes, and a missing or empty header allows anything.
 */
export function accepts(header: string | undefined, types: readonly string[]): boolean {
  if (header === undefined || header.trim() === '' || header === '*/*' || types.includes(header)) return true;
  const ranges = parseMediaRanges(header);
  return types.some((type) => {
    const family = `${type.slice(0, type.indexOf('/'))}/*`;
    const match =
      ranges.find((range) => range.type === type) ??
      ranges.find((range) => range.type === family) ??
      ranges.find((range) => range.type === '*/*');
    return match !== undefined && match.quality > 0;
  });
}

/** Whether a Content-Type names one of the media types in UTF-8. A missing header counts as JSON. */
export function acceptsContentType(header: string | undefined, types: readonly string[]): boolean {
  if (header === undefined || header === types[0]) return true;
  const [type = '', ...parameters] = header.split(';').map((text) => text.trim().toLowerCase());
  if (!types.includes(type)) return false;
  return parameters.every(
    (parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter),
  );
}

/** The width of most terminals. */
const WIDTH = 80;
const GAP = '  ';
/** Words up to this length are not broken. */
const UNBROKEN = 16;

/**
 * Formats a table with aligned columns for terminals, at most 80 characters wide: the widest columns are narrowed, and
 * longer text is wrapped. Ids are never wrapped, since people copy them into other commands.
 *
 * @param header the column names
 * @param rows one cell per column
 */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string[] {
  const table = [header, ...rows].map((cells) =>
    cells.map((cell) => printable(String(cell)).replaceAll('\n', '\ufffd')),
  );
  const widest = (texts: readonly string[]) => texts.reduce((most, { length }) => Math.max(most, length), 0);
  const columns = header.map((_, column) => table.map((cells) => cells[column]!));
  const widths = columns.map(widest);
  const least = columns.map((cells, column) =>
    header[column] === 'ID'
      ? widths[column]!
      : Math.min(UNBROKEN, widest(cells.flatMap((cell) => cell.split(/[ ,]/)))),
  );
  let surplus = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - WIDTH;
  while (surplus-- > 0) {
    const spare = widths.map((width, column) => (width > least[column]! ? width : 0));
    const most = Math.max(...spare);
    if (most === 0) break;
    widths[spare.indexOf(most)]!--;
  }
  return table.flatMap((cells) => {
    const wrapped = cells.map((cell, column) => wrap(cell, widths[column]!));
    const height = Math.max(...wrapped.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) =>
      wrapped
        .map((lines, column) => (lines[line] ?? '').padEnd(widths[column]!))
        .join(GAP)
        .trimEnd(),
    );
  });
}

/** Breaks a text into lines, after a space or comma if possible. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const end = Math.max(rest.lastIndexOf(' ', width), rest.lastIndexOf(',', width - 1) + 1);
    const cut = end > 0 ? end : width;
    lines.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return [...lines, rest];
}

/** Replaces characters that control a terminal, except for line feeds. */
export const printable = (text: string): string => text.replaceAll(/[\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/gu, '\ufffd');

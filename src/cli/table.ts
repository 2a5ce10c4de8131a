/** The width of most terminals. */
const WIDTH = 80;
const GAP = '  ';
const MIN_COLUMN = 8;

/**
 * Formats a table with aligned columns for terminals, at most 80 characters wide: the widest columns get narrower, and
 * what doesn't fit into one goes on in the next line.
 *
 * @param header column names
 * @param rows one cell per column
 */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const table = [header, ...rows].map((cells) => cells.map(printable));
  const widths = header.map((_, column) => Math.max(...table.map((cells) => cells[column]!.length)));
  let surplus = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - WIDTH;
  while (surplus > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest]! <= MIN_COLUMN) break;
    widths[widest]!--;
    surplus--;
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

/** Breaks a text into lines, after a space or comma if there is one. */
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

/** Replaces characters that would move the cursor or break the line. */
const printable = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\ufffd');

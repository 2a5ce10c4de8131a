/**
 * Lines of text with aligned columns, for terminals.
 *
 * @param header names of the columns
 * @param rows as many cells each
 */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [header, ...rows].map((cells) => cells.map(printable));
  const widths = header.map((_, column) => Math.max(...lines.map((cells) => cells[column]!.length)));
  return lines.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}

/** Without what moves the cursor or ends the line. */
const printable = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\ufffd');

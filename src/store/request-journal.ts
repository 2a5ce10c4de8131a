/**
 * Lines of text in the order of their addition, for requests that are not stored by key yet. A place is the offset of a
 * line in the bytes of all lines ever added.
 */
export interface RequestJournal {
  /** The place of the first line. */
  readonly start: number;
  /** The place of the next line. */
  readonly end: number;
  /** The place before which lines are to be stored by key before `turn` is called, which is due. Otherwise unset. */
  readonly due: number | undefined;
  /** True if lines should be dropped, as while the database cannot be written. */
  readonly isFull: boolean;
  /** @param lines as UTF-8 @throws UNAVAILABLE, and has then added nothing */
  add(lines: Uint8Array): void;
  /** The lines at some places, which ascend, a part at a time. Lost ones may be missing or anything. @throws UNAVAILABLE */
  linesAt(places: Float64Array): Iterable<readonly string[]>;
  /** All lines, with their places: at first, those that an earlier process has left. @throws UNAVAILABLE */
  lines(): Iterable<readonly [place: number, line: string]>;
  /** Deletes the lines before `due`, and those that are too old to be shown. */
  turn(): void;
  /** Deletes all lines. */
  clear(): void;
}

import { closeSync, constants, openSync, readdirSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { unavailable } from '../../foundation/errors.ts';
import { HOUR } from '../../foundation/instant.ts';
import { REQUESTS_KEPT } from '../request-chunks.ts';
import type { RequestJournal } from '../request-journal.ts';

/** The size from which a file gets no more lines, in bytes. */
const PART = 8_000_000;
/** The age from which a file gets no more lines, in milliseconds, so that old ones can be deleted. */
const MAX_AGE = HOUR;
/**
 * The size of all files from which the first one is due, in bytes: a thousand busy keys then have 1,000 later requests each,
 * and none of theirs is ever stored by key.
 */
const CAPACITY = 128_000_000;
/** The maximum length of a line, in bytes. */
const MAX_LINE = 4_096;

/** A file of the journal. */
interface Part {
  start: number;
  size: number;
  /** When it was begun, in milliseconds since 1970. */
  since: number;
}

/** The line at an offset. */
const lineAt = (text: Buffer, offset: number): string =>
  text.toString('utf8', offset, text.indexOf('\n', offset));

const endOf = ({ start, size }: Part): number => start + size;

/**
 * A journal in files beside the data file, each named after its first place: `petstore.db-requests-0`. In the database,
 * each line would be written twice, and its pages freed one by one, which takes five times as long.
 *
 * @param now milliseconds since 1970
 */
export function fileJournal(file: string, now: () => number): RequestJournal {
  const pathOf = (start: number | '') => `${file}-requests-${start}`;
  const parts = readdirSync(dirname(file))
    .filter((name) => name.startsWith(basename(pathOf(''))) && /-\d+$/.test(name))
    .map((name) => Number(name.split('-').at(-1)))
    .map((start): Part => {
      const { size, mtimeMs } = statSync(pathOf(start));
      return { start, size, since: mtimeMs };
    })
    .sort((a, b) => a.start - b.start);
  const current = (): Part => parts.at(-1)!;
  const begin = () => parts.push({ start: parts.length === 0 ? 0 : endOf(current()), size: 0, since: now() });
  const deleteFirst = () => rmSync(pathOf(parts.shift()!.start), { force: true });
  const isLarge = (times = 1) => endOf(current()) - parts[0]!.start > times * CAPACITY;

  /** Uses a file. @returns undefined if somebody has deleted it */
  function using<T>({ start }: Part, flags: number, work: (descriptor: number) => T): T | undefined {
    try {
      const descriptor = openSync(pathOf(start), flags, 0o600);
      try {
        return work(descriptor);
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw unavailable(error);
    }
  }
  /** The content of a file from an offset on. @param buffer for it, of at least that size */
  const contentOf = (part: Part, from: number, buffer = Buffer.allocUnsafeSlow(part.size - from)): Buffer => {
    const size = using(part, constants.O_RDONLY, (descriptor) =>
      readSync(descriptor, buffer, 0, part.size - from, from),
    );
    return buffer.subarray(0, size ?? 0);
  };

  /** For the content of a file: new memory for each would take as long as reading it. */
  let memory = Buffer.allocUnsafeSlow(0);

  if (parts.length === 0) begin();
  // A kill may have cut off the last line, which is overwritten.
  const rest = Math.max(0, current().size - MAX_LINE);
  current().size = rest + contentOf(current(), rest).lastIndexOf('\n') + 1;

  return {
    get start() {
      return parts[0]!.start;
    },
    get end() {
      return endOf(current());
    },
    get due() {
      const { size, since } = current();
      if (size < PART && (size === 0 || now() - since <= MAX_AGE)) return undefined;
      return isLarge() ? endOf(parts[0]!) : parts[0]!.start;
    },
    get isFull() {
      return isLarge(2);
    },
    add(lines) {
      // At a position, since some of them may have been written by an attempt that failed.
      using(current(), constants.O_WRONLY | constants.O_CREAT, (descriptor) => {
        for (let done = 0; done < lines.length;)
          done += writeSync(descriptor, lines, done, lines.length - done, current().size + done);
      });
      current().size += lines.length;
    },
    *linesAt(places) {
      const size = Math.max(...parts.map((part) => part.size));
      if (memory.length < size) memory = Buffer.allocUnsafeSlow(size);
      for (const part of parts) {
        const own = places.filter((place) => place >= part.start && place < endOf(part));
        const text = own.length > 0 && contentOf(part, own[0]! - part.start, memory);
        if (text) yield Array.from(own, (place) => lineAt(text, place - own[0]!));
      }
    },
    *lines() {
      for (const part of parts) {
        const text = contentOf(part, 0);
        for (let from = 0, to: number; (to = text.indexOf('\n', from)) >= 0; from = to + 1)
          yield [part.start + from, text.toString('utf8', from, to)] as const;
      }
    },
    turn() {
      if (isLarge()) deleteFirst();
      begin();
      memory = Buffer.allocUnsafeSlow(0);
      while (parts.length > 1 && parts[1]!.since <= now() - REQUESTS_KEPT) deleteFirst();
    },
    clear() {
      begin();
      while (parts.length > 1) deleteFirst();
    },
  };
}

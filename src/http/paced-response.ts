import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { MAX_TURN, ownTurn } from '../foundation/turns.ts';

/** Writes a stream no faster than its client reads, and notices when the client disconnects. */
export class PacedResponse {
  readonly #response: ServerResponse;
  #resume: (() => void) | undefined;
  #isEnding = false;

  /** @param onDisconnect called immediately if the client has already disconnected */
  constructor(response: ServerResponse, onDisconnect = () => {}) {
    this.#response = response;
    response.on('drain', () => this.#resume?.());
    response.on('close', () => {
      onDisconnect();
      this.#resume?.();
    });
    if (response.destroyed) onDisconnect();
  }

  /** Resolves when the client can take more or has disconnected, or when `end` is called. */
  async write(chunk: string | Uint8Array): Promise<void> {
    const response = this.#response;
    if (response.destroyed || response.write(chunk) || this.#isEnding) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      if (response.destroyed || !response.writableNeedDrain) resolve();
    });
  }

  /** Waits for the client no longer, since what is left to write is little. */
  end(): void {
    this.#isEnding = true;
    this.#resume?.();
  }
}

/** Passes on the pieces of a body, letting others in between them. */
async function* inTurns(pieces: Iterable<string>): AsyncGenerator<string, void, undefined> {
  let began = performance.now();
  for (const piece of pieces) {
    yield piece;
    if (performance.now() - began < MAX_TURN) continue;
    await ownTurn();
    began = performance.now();
  }
}

/**
 * Writes a body piece by piece, as fast as its client reads. Nothing more is produced while the client does
 * not read, or once it is gone.
 *
 * @returns fields for the log
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: Iterable<string>,
): Promise<{ aborted?: true }> {
  const paced = new PacedResponse(response);
  for await (const piece of inTurns(pieces)) {
    if (response.destroyed) break;
    await paced.write(piece);
  }
  if (response.destroyed) return { aborted: true };
  response.end();
  return {};
}

/** The entity tag (`etagOf`) of a body that is never held as a whole. */
export async function etagOfPieces(pieces: Iterable<string>): Promise<string> {
  const digest = createHash('sha256');
  for await (const piece of inTurns(pieces)) digest.update(piece);
  return `"${digest.digest('base64url')}"`;
}

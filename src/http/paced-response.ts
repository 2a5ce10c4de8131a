import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Writes a stream no faster than its client reads, and notices when the client disconnects. */
export class PacedResponse {
  readonly #response: ServerResponse;
  readonly #socket: Socket | null;
  readonly #onDisconnect: () => void;
  #resume: (() => void) | undefined;

  /** @param onDisconnect called immediately if the client has already disconnected */
  constructor(response: ServerResponse, onDisconnect: () => void) {
    this.#response = response;
    this.#socket = response.socket;
    this.#onDisconnect = onDisconnect;
    response.on('drain', () => this.resume());
    response.on('close', onDisconnect);
    // A client that reads indefinitely has no reason to half-close its connection, so it is about to
    // disconnect.
    this.#socket?.on('end', onDisconnect);
    if (response.destroyed || this.#socket?.readableEnded) onDisconnect();
  }

  /** Resolves when the client can take more, or when `resume` is called. */
  async write(chunk: string | Uint8Array): Promise<void> {
    const response = this.#response;
    if (response.destroyed || response.write(chunk)) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      if (response.destroyed || !response.writableNeedDrain) resolve();
    });
  }

  /** Lets a pending `write` continue, since the stream has ended. */
  resume(): void {
    this.#resume?.();
  }

  /** Lets the connection serve other requests. */
  release(): void {
    this.#socket?.off('end', this.#onDisconnect);
  }
}

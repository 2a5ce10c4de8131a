import type { ServerResponse } from 'node:http';

/** Writes a stream no faster than its client reads, and notices when the client disconnects. */
export class PacedResponse {
  readonly #response: ServerResponse;
  #resume: (() => void) | undefined;

  /** @param onDisconnect called immediately if the client has already disconnected */
  constructor(response: ServerResponse, onDisconnect = () => {}) {
    this.#response = response;
    response.on('drain', () => this.resume());
    response.on('close', () => {
      onDisconnect();
      this.resume();
    });
    if (response.destroyed) onDisconnect();
  }

  /** Resolves when the client can take more or has disconnected, or when `resume` is called. */
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
}

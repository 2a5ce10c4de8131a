import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLIENT_DISCONNECTED, endReason, isFault, SERVER_STOPPING } from '../../access/open-streams.ts';
import type { Session } from '../../access/session.ts';
import { AppError, asAppError } from '../../foundation/errors.ts';
import { ownTurn } from '../../foundation/turns.ts';
import { PacedResponse } from '../../http/paced-response.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse } from '../../http/response.ts';
import { MAX_PAGE_SIZE } from '../../kit/connection.ts';
import { writeRecord } from '../../operations/representation.ts';
import { endOf, type ResultPage } from '../../operations/route-operation.ts';
import { integerParameter, type QueryParameter } from '../../rows/parameter.ts';
import { MAX_EXPORT_SIZE, NDJSON } from '../../rows/route.ts';
import type { Shape } from '../../rows/shape.ts';
import type { TransportServices } from '../transport-services.ts';

/** Rows covered by one payment of 1 unit, which is what a page of a list costs. */
const ROWS_PER_PAYMENT = MAX_PAGE_SIZE;
/**
 * Pages covered by one payment. A page has fewer rows than were asked for if its filter leaves out most of what
 * it examines.
 */
const PAGES_PER_PAYMENT = 10;

/** Pages sent between two pauses of a millisecond, without which an export takes a processor for itself. */
const PAGES_WITHOUT_PAUSE = 5;

const stopping = () => new AppError('UNAVAILABLE', 'The server is stopping. Continue after `after`.');

/** Replaces the parameter `limit` of a list. */
export const exportLimit = (limit: QueryParameter): QueryParameter => ({
  ...limit,
  ...integerParameter(1, MAX_EXPORT_SIZE),
});

/** A list to export. */
export interface ExportSource {
  shape: Shape;
  /** Reads the next page of at most `limit` records. The start of the list has no `after`. */
  readPage(limit: number, after: string | undefined): Promise<ResultPage>;
  after: string | undefined;
  /** All by default. */
  limit: number | undefined;
}

type ExportServices = Pick<TransportServices, 'openStreams' | 'report'>;

/** The export of a list, a record per line (https://github.com/ndjson/ndjson-spec), which pays for its rows. */
export class Export {
  readonly #source: ExportSource;
  readonly #session: Session;
  readonly #services: ExportServices;
  /** Where the next page begins. */
  #after: string | undefined;
  #page: ResultPage | undefined;
  #onFailure = () => {};
  #paidRows = ROWS_PER_PAYMENT;
  #paidPages = PAGES_PER_PAYMENT;
  /** What ended it early. */
  #failure: unknown;
  /** Rows sent so far. */
  #rows = 0;
  #pages = 0;

  constructor(source: ExportSource, session: Session, services: ExportServices) {
    this.#source = source;
    this.#session = session;
    this.#services = services;
    this.#after = source.after;
  }

  /**
   * Opens an export that has been paid for. The first page is read before the response begins, so that a list that
   * does not exist is an error as usual.
   *
   * @throws RATE_LIMITED if the key has as many streams open as its plan allows, and whatever reading throws
   */
  async open({ method, apiKey, requestId }: RequestContext): Promise<HttpResponse> {
    const head = { status: 200, headers: ['X-Accel-Buffering', 'no'], contentType: NDJSON };
    if (method === 'HEAD') {
      await this.#read();
      return { ...head, stream: async () => ({}) };
    }
    const { openStreams, report } = this.#services;
    const remove = openStreams.add({
      session: this.#session,
      key: apiKey!,
      fail: (error) => this.#fail(error),
    });
    try {
      await this.#read();
    } catch (error) {
      remove();
      throw error;
    }
    return {
      ...head,
      stream: async (response) => {
        await this.#run(response);
        remove();
        const failure = this.#failure;
        if (failure !== undefined && isFault(failure)) report(failure, requestId);
        return { rows: this.#rows, end: failure === undefined ? 'complete' : endReason(failure) };
      },
    };
  }

  /** Reads the next page. */
  async #read(): Promise<void> {
    const left = (this.#source.limit ?? Number.POSITIVE_INFINITY) - this.#rows;
    const size = Math.min(this.#paidRows || ROWS_PER_PAYMENT, left);
    this.#page = await this.#source.readPage(size, this.#after);
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#onFailure();
  }

  /** Sends the page read and all after it, no faster than the client reads. */
  async #run(response: ServerResponse): Promise<void> {
    const paced = new PacedResponse(response, () => this.#fail(CLIENT_DISCONNECTED));
    this.#onFailure = () => paced.resume();
    try {
      await this.#send(paced);
    } catch (error) {
      this.#fail(error);
    }
    if (this.#failure === CLIENT_DISCONNECTED) response.destroy();
    else response.end(this.#failure === undefined ? undefined : this.#errorLine());
  }

  async #send(paced: PacedResponse): Promise<void> {
    const { shape, limit } = this.#source;
    while (this.#page && this.#failure === undefined) {
      const { nodes, pageInfo } = this.#page;
      if (nodes.length > this.#paidRows || this.#paidPages === 0) {
        await this.#session.charge(1);
        this.#paidRows = ROWS_PER_PAYMENT;
        this.#paidPages = PAGES_PER_PAYMENT;
      }
      // Charging may have taken time.
      if (this.#failure !== undefined) return;
      let lines = '';
      for (const record of nodes) lines += `${writeRecord(shape.type, 'integer', record)}\n`;
      this.#paidRows -= nodes.length;
      this.#paidPages--;
      this.#rows += nodes.length;
      this.#after = endOf(shape, this.#page) ?? this.#after;
      if (lines !== '') await paced.write(lines);
      if (!pageInfo.hasNextPage || this.#rows === limit) return;
      // Lets other requests in, and now and then other processes too.
      if (++this.#pages % PAGES_WITHOUT_PAUSE === 0) await sleep(1);
      else await ownTurn();
      if (this.#failure === undefined) await this.#read();
    }
  }

  /** The last line of an export that ended early: an Error with the place to continue from. */
  #errorLine(): string {
    const error = this.#failure === SERVER_STOPPING ? stopping() : asAppError(this.#failure);
    return `${JSON.stringify({ ...error.toPublic(), after: this.#after ?? '0' })}\n`;
  }
}

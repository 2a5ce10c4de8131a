import { AggregatorRegistry, type RegistryContentType } from 'prom-client';
import { Metrics } from './metrics.ts';

const REQUEST = 'petstore:metrics?';
const RESPONSE = 'petstore:metrics';
/** Longer than prom-client waits for the workers. */
const TIMEOUT = 6_000;

interface Message {
  type?: string;
  id?: number | undefined;
  text?: string | undefined;
}

/**
 * The metrics of one of several workers. It reports those of all workers, since the counts of an arbitrary
 * one mean nothing.
 */
export class WorkerMetrics extends Metrics {
  #requests = 0;
  readonly #waiting = new Map<number, (text: string | undefined) => void>();

  constructor(sources: ConstructorParameters<typeof Metrics>[0]) {
    super(sources);
    AggregatorRegistry.setRegistries([this.registry]);
    // Created for its listener, which responds to the supervisor.
    new AggregatorRegistry();
    process.on('message', ({ type, id, text }: Message) => {
      if (type === RESPONSE) this.#waiting.get(id!)?.(text);
    });
  }

  /** @throws if the supervisor does not respond */
  override async text(): Promise<string> {
    const id = this.#requests++;
    const text = await new Promise<string | undefined>((resolve) => {
      const timer = setTimeout(resolve, TIMEOUT, undefined);
      this.#waiting.set(id, (text) => {
        clearTimeout(timer);
        resolve(text);
      });
      process.send!({ type: REQUEST, id } satisfies Message);
    });
    this.#waiting.delete(id);
    if (text === undefined) throw new Error('The metrics of the workers could not be gathered.');
    return text;
  }
}

/** Aggregates the metrics of all workers whenever one of them asks. */
export function serveWorkerMetrics(cluster: typeof import('node:cluster').default): void {
  const gathered = new AggregatorRegistry<RegistryContentType>();
  cluster.on('message', async (worker, { type, id }: Message) => {
    if (type !== REQUEST) return;
    const text = await gathered.clusterMetrics().catch(() => undefined);
    if (worker.isConnected()) worker.send({ type: RESPONSE, id, text } satisfies Message);
  });
}

import DataLoader from 'dataloader';
import type { Category } from '../domains/category/category.ts';
import type { Id } from '../domains/id.ts';
import type { Order, OrderFilter } from '../domains/order/order.ts';
import type { Pet, PetFilter } from '../domains/pet/pet.ts';
import { AppError } from '../errors.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Page, PageRequest, Store } from '../store/store.ts';

/** For whom a request reads. */
export interface Reader {
  /** Whether the client went away: then nothing more is read for it. */
  isGone(): boolean;
  /** Whether it asks for so much that other requests, and the news that it is gone, are let in between two levels. */
  isPatient: boolean;
}

const ANYONE: Reader = { isGone: () => false, isPatient: false };

/** A DataLoader whose batches wait for their turn and are given up with the client. */
function loaderFor<T>(
  { isGone, isPatient }: Reader,
  read: (ids: readonly Id[]) => MaybePromise<T[]>,
): DataLoader<Id, T> {
  const batch = async (ids: readonly Id[]) => {
    if (isGone()) throw clientGone();
    return read(ids);
  };
  return new DataLoader(batch, isPatient ? { batchScheduleFn: setImmediate } : {});
}

/** Never shown to anybody: there is nobody to show it to. */
const clientGone = () => new AppError('BAD_REQUEST', 'The client went away.');

/** A DataLoader that answers at once what the request has already read. */
class Known<T> {
  readonly #known = new Map<Id, T | null>();
  readonly #reader: Reader;
  readonly #read: (ids: readonly Id[]) => MaybePromise<(T | null)[]>;
  #loader: DataLoader<Id, T | null> | undefined;

  readonly #peek: ((id: Id) => T | undefined) | undefined;

  /**
   * @param read one command for any number of ids
   * @param peek the record if the store knows it without asking the database
   */
  constructor(
    reader: Reader,
    read: (ids: readonly Id[]) => MaybePromise<(T | null)[]>,
    peek?: (id: Id) => T | undefined,
  ) {
    this.#reader = reader;
    this.#read = read;
    this.#peek = peek;
  }

  load(id: Id): MaybePromise<T | null> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const peeked = this.#peek?.(id);
    if (peeked !== undefined) return peeked;
    this.#loader ??= loaderFor(this.#reader, async (ids) => {
      const records = await this.#read(ids);
      for (let i = 0; i < ids.length; i++) this.#known.set(ids[i]!, records[i] ?? null);
      return records;
    });
    return this.#loader.load(id);
  }

  know(id: Id, record: T): void {
    this.#known.set(id, record);
  }
}

/** Loaders of what hangs on a parent, one for each distinct set of arguments: each is one command. */
class PerParent<T> {
  readonly #loaders = new Map<string, DataLoader<Id, T>>();
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  load(parent: Id, args: unknown, read: (parents: readonly Id[]) => MaybePromise<T[]>): Promise<T> {
    const key = JSON.stringify(args);
    let loader = this.#loaders.get(key);
    if (!loader) {
      loader = loaderFor(this.#reader, read);
      this.#loaders.set(key, loader);
    }
    return loader.load(parent);
  }
}

/** What one request reads, each thing once and each level of a query with one command. Made as it is needed. */
export class Loaders {
  readonly #store: Store;
  readonly #reader: Reader;
  #pets: Known<Pet> | undefined;
  #categories: Known<Category> | undefined;
  #orders: Known<Order> | undefined;
  #petPages: PerParent<Page<Pet>> | undefined;
  #orderPages: PerParent<Page<Order>> | undefined;
  #petCounts: PerParent<number> | undefined;
  #orderCounts: PerParent<number> | undefined;

  constructor(store: Store, reader = ANYONE) {
    this.#store = store;
    this.#reader = reader;
  }

  pet(id: Id): MaybePromise<Pet | null> {
    return this.#knownPets().load(id);
  }

  category(id: Id): MaybePromise<Category | null> {
    return this.#knownCategories().load(id);
  }

  order(id: Id): MaybePromise<Order | null> {
    this.#orders ??= new Known(this.#reader, (ids) => this.#store.ordersById(ids));
    return this.#orders.load(id);
  }

  petPage(filter: PetFilter, page: PageRequest): MaybePromise<Page<Pet>> {
    return this.#reads.petPage(filter, page);
  }

  /** Categories of a list are known to the pets below it. */
  categoryPage(page: PageRequest): MaybePromise<Page<Category>> {
    const found = this.#reads.categoryPage(page);
    return found instanceof Promise
      ? found.then((result) => this.#knowCategories(result))
      : this.#knowCategories(found);
  }

  orderPage(filter: OrderFilter, page: PageRequest): MaybePromise<Page<Order>> {
    return this.#reads.orderPage(filter, page);
  }

  petPageOfCategory(category: Category, filter: PetFilter, page: PageRequest): Promise<Page<Pet>> {
    this.#petPages ??= new PerParent(this.#reader);
    return this.#petPages.load(category.id, [filter, page], (ids) =>
      this.#store.petPagesByCategory(ids, filter, page),
    );
  }

  orderPageOfPet(pet: Pet, filter: OrderFilter, page: PageRequest): Promise<Page<Order>> {
    this.#orderPages ??= new PerParent(this.#reader);
    return this.#orderPages.load(pet.id, [filter, page], (ids) =>
      this.#store.orderPagesByPet(ids, filter, page),
    );
  }

  petCountOfCategory(category: Category, filter: PetFilter): Promise<number> {
    this.#petCounts ??= new PerParent(this.#reader);
    return this.#petCounts.load(category.id, filter, (ids) => this.#store.petCountsByCategory(ids, filter));
  }

  orderCountOfPet(pet: Pet, filter: OrderFilter): Promise<number> {
    this.#orderCounts ??= new PerParent(this.#reader);
    return this.#orderCounts.load(pet.id, filter, (ids) => this.#store.orderCountsByPet(ids, filter));
  }

  /** The store, to those who still wait. */
  get #reads(): Store {
    if (this.#reader.isGone()) throw clientGone();
    return this.#store;
  }

  #knownPets(): Known<Pet> {
    const store = this.#store;
    this.#pets ??= new Known(
      this.#reader,
      (ids) => store.petsById(ids),
      (id) => store.peekPet?.(id),
    );
    return this.#pets;
  }

  #knownCategories(): Known<Category> {
    const store = this.#store;
    this.#categories ??= new Known(
      this.#reader,
      (ids) => store.categoriesById(ids),
      (id) => store.peekCategory?.(id),
    );
    return this.#categories;
  }

  #knowCategories(page: Page<Category>): Page<Category> {
    const categories = this.#knownCategories();
    for (const category of page.items) categories.know(category.id, category);
    return page;
  }
}

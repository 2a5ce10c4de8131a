/* eslint-disable */
/* tslint:disable */
// @ts-nocheck
/*
 * ---------------------------------------------------------------
 * ## THIS FILE WAS GENERATED VIA SWAGGER-TYPESCRIPT-API        ##
 * ##                                                           ##
 * ## AUTHOR: acacode                                           ##
 * ## SOURCE: https://github.com/acacode/swagger-typescript-api ##
 * ---------------------------------------------------------------
 */

/**
 * An API key and what it may do.
 * @example {"id":"key_3RlZ5unNSlWY","name":"My app","plan":"pro","scopes":["pets:read","orders:write"],"createdAt":"2026-11-21T12:00:00Z"}
 */
export interface ApiKey {
  /**
   * The networks the key may be used from; any if absent
   * @maxItems 20
   */
  allow?: string[];
  /**
   * When the key was created
   * @format date-time
   */
  createdAt: string;
  /**
   * The list of GraphQL documents the key may run, after `report:` if others are only counted
   * @maxLength 110
   */
  documents?: string;
  /**
   * From when on the key is not valid; never if absent
   * @format date-time
   */
  expiresAt?: string;
  /**
   * Unique identifier of the key, which is not the key itself
   * @maxLength 100
   */
  id: string;
  /**
   * When the key was last used; up to 10 seconds behind
   * @format date-time
   */
  lastUsedAt?: string;
  /**
   * The owner of the key
   * @maxLength 200
   */
  name: string;
  /** The plan of the key */
  plan: Plan;
  /**
   * What the key may do; everything if absent
   * @maxItems 20
   */
  scopes?: string[];
}

/**
 * A page of records, ordered by id.
 * @maxItems 100
 */
export type Categories = Category[];

/**
 * A kind of animal.
 * @example {"id":1,"name":"Dogs","description":"Loyal, loud and always hungry"}
 */
export interface Category {
  /**
   * A short description of the category
   * @maxLength 2000
   * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
   */
  description?: string;
  /**
   * Unique identifier, assigned on creation
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  id: number;
  /**
   * The category name (for example a kind of animal)
   * @minLength 1
   * @maxLength 200
   * @pattern ^[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?$
   */
  name: string;
}

/**
 * The fields to change.
 * @example {"description":null}
 */
export interface CategoryPatch {
  /**
   * A short description of the category
   * @maxLength 2000
   * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
   */
  description?: string | null;
  /**
   * The category name (for example a kind of animal)
   * @minLength 1
   * @pattern ^[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]{0,198}[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$
   */
  name?: string;
}

/**
 * A deleted record.
 * @example {"id":1}
 */
export interface Deleted {
  /**
   * The id of the record
   * @format int64
   * @min 1
   */
  id: number;
}

/**
 * What went wrong.
 * @example {"code":"NOT_FOUND","message":"The resource or path does not exist.","status":404}
 */
export interface Error {
  /** A machine-readable error code */
  code:
    | "BAD_REQUEST"
    | "VALIDATION_FAILED"
    | "UNAUTHENTICATED"
    | "API_KEY_BANNED"
    | "FORBIDDEN"
    | "NOT_FOUND"
    | "METHOD_NOT_ALLOWED"
    | "NOT_ACCEPTABLE"
    | "CONFLICT"
    | "GONE"
    | "PRECONDITION_FAILED"
    | "PAYLOAD_TOO_LARGE"
    | "UNSUPPORTED_MEDIA_TYPE"
    | "UNKNOWN_REFERENCE"
    | "IDEMPOTENCY_KEY_REUSED"
    | "RATE_LIMITED"
    | "INTERNAL"
    | "UNAVAILABLE";
  /**
   * A human-readable description of the error
   * @minLength 1
   */
  message: string;
  /**
   * The HTTP status code
   * @format int32
   */
  status: number;
}

/**
 * One committed write.
 * @example {"id":"5f0c1d2e-42","type":"pet.updated","time":"2026-11-21T12:00:00.123Z","data":{"id":1,"name":"Rex","categoryId":1,"status":"sold"}}
 */
export interface Event {
  /** The record after the write; for a deletion only its id */
  data: Pet | Category | StoredOrder | InventoryItem | Deleted;
  /**
   * Opaque; pass it as `after` to continue from here
   * @minLength 1
   * @maxLength 2000
   */
  id: string;
  /**
   * When the write was committed
   * @format date-time
   */
  time: string;
  /** What happened */
  type: EventType;
}

/**
 * The type of an event.
 * @example "pet.updated"
 */
export type EventType =
  | "pet.created"
  | "pet.updated"
  | "pet.deleted"
  | "category.created"
  | "category.updated"
  | "category.deleted"
  | "order.created"
  | "order.updated"
  | "order.deleted"
  | "inventory.updated";

/**
 * A page of records, ordered by id.
 * @maxItems 100
 */
export type Events = Event[];

/**
 * The stock of one animal.
 * @example {"petId":1,"quantity":3,"status":"available"}
 */
export interface InventoryItem {
  /**
   * ID of the animal this entry tracks
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  petId: number;
  /**
   * Current stock count
   * @format int32
   * @min 0
   * @max 2147483647
   */
  quantity: number;
  /** Status of the tracked animal */
  status: PetStatus;
}

/**
 * A page of records, ordered by id.
 * @maxItems 100
 */
export type InventoryItems = InventoryItem[];

/**
 * The fields to change.
 * @example {"quantity":5}
 */
export interface InventoryPatch {
  /**
   * Current stock count
   * @format int32
   * @min 0
   * @max 2147483647
   */
  quantity?: number;
}

/**
 * The replacement for the record.
 * @example {"quantity":3}
 */
export interface InventoryUpdate {
  /**
   * Current stock count
   * @format int32
   * @min 0
   * @max 2147483647
   */
  quantity: number;
}

/**
 * A new record, or the replacement for an existing one.
 * @example {"name":"Dogs","description":"Loyal, loud and always hungry"}
 */
export interface NewCategory {
  /**
   * A short description of the category
   * @maxLength 2000
   * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
   */
  description?: string;
  /**
   * The category name (for example a kind of animal)
   * @minLength 1
   * @pattern ^[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]{0,198}[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$
   */
  name: string;
}

/**
 * A new record, or the replacement for an existing one.
 * @example {"name":"Rex","categoryId":1,"status":"available"}
 */
export interface NewPet {
  /**
   * ID of the category the animal belongs to
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  categoryId: number;
  /**
   * The animal's name
   * @minLength 1
   * @pattern ^[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]{0,198}[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$
   */
  name: string;
  /** Status of the pet; defaults to `available` */
  status?: PetStatus;
}

/**
 * A new webhook.
 * @example {"url":"https://example.org/petstore"}
 */
export interface NewWebhook {
  /**
   * The place in the log: everything up to it was acknowledged
   * @minLength 1
   * @maxLength 2000
   */
  after?: string;
  /**
   * The types of the events to send; all if absent
   * @maxItems 10
   * @minItems 1
   * @uniqueItems true
   */
  types?: EventType[];
  /**
   * Where events are sent: an https:// address
   * @format uri
   * @maxLength 2048
   */
  url: string;
}

/**
 * An order for an animal. No field is required.
 * @example {"petId":1,"quantity":1,"shipDate":"2026-12-01T09:30:00Z","complete":false}
 */
export interface Order {
  /** Whether the order has been fulfilled; defaults to `false` */
  complete?: boolean;
  /**
   * Unique order identifier, chosen by the client or assigned
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  id?: number;
  /**
   * ID of the animal in this order
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  petId?: number;
  /**
   * Number of units ordered
   * @format int32
   * @min 1
   * @max 2147483647
   */
  quantity?: number;
  /**
   * Expected or actual ship date
   * @format date-time
   */
  shipDate?: string;
}

/**
 * The fields to change.
 * @example {"complete":true}
 */
export interface OrderPatch {
  /** Whether the order has been fulfilled */
  complete?: boolean;
  /**
   * ID of the animal in this order
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  petId?: number | null;
  /**
   * Number of units ordered
   * @format int32
   * @min 1
   * @max 2147483647
   */
  quantity?: number | null;
  /**
   * Expected or actual ship date
   * @format date-time
   */
  shipDate?: string | null;
}

/**
 * A page of records, ordered by id.
 * @maxItems 100
 */
export type Orders = StoredOrder[];

/**
 * An animal in the store.
 * @example {"id":1,"name":"Rex","categoryId":1,"status":"available"}
 */
export interface Pet {
  /**
   * ID of the category the animal belongs to
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  categoryId: number;
  /**
   * Unique identifier, assigned on creation
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  id: number;
  /**
   * The animal's name
   * @minLength 1
   * @maxLength 200
   * @pattern ^[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?$
   */
  name: string;
  /** Status of the pet */
  status: PetStatus;
}

/**
 * The fields to change.
 * @example {"status":"sold"}
 */
export interface PetPatch {
  /**
   * ID of the category the animal belongs to
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  categoryId?: number;
  /**
   * The animal's name
   * @minLength 1
   * @pattern ^[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]{0,198}[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$
   */
  name?: string;
  /** Status of the pet */
  status?: PetStatus;
}

/**
 * The status of a pet.
 * @example "available"
 */
export type PetStatus = "available" | "pending" | "sold";

/**
 * A page of records, ordered by id.
 * @maxItems 100
 */
export type Pets = Pet[];

/**
 * The plan of a key.
 * @example "pro"
 */
export type Plan = "free" | "pro" | "business" | "enterprise";

/**
 * A stored order, which always has an id and says whether it is complete.
 * @example {"id":1,"petId":1,"quantity":1,"shipDate":"2026-12-01T09:30:00Z","complete":false}
 */
export interface StoredOrder {
  /** Whether the order has been fulfilled */
  complete: boolean;
  /**
   * Unique order identifier, chosen by the client or assigned
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  id: number;
  /**
   * ID of the animal in this order
   * @format int64
   * @min 1
   * @max 9223372036854776000
   */
  petId?: number;
  /**
   * Number of units ordered
   * @format int32
   * @min 1
   * @max 2147483647
   */
  quantity?: number;
  /**
   * Expected or actual ship date
   * @format date-time
   */
  shipDate?: string;
}

/**
 * What the API key did on one day.
 * @example {"date":"2026-11-22","requests":120,"units":131,"refused":2}
 */
export interface UsageDay {
  /**
   * The day in UTC
   * @format date
   */
  date: string;
  /**
   * Requests refused by the limits of the plan
   * @format int32
   * @min 0
   * @max 2147483647
   */
  refused: number;
  /**
   * Requests that passed
   * @format int32
   * @min 0
   * @max 2147483647
   */
  requests: number;
  /**
   * Units charged
   * @format int32
   * @min 0
   * @max 2147483647
   */
  units: number;
}

/**
 * Days with use, oldest first.
 * @maxItems 100
 */
export type UsageDays = UsageDay[];

/**
 * What the API key did by one operation over one transport.
 * @example {"operation":"pets","transport":"rest","requests":100,"units":100,"refused":2}
 */
export interface UsageOperation {
  /**
   * The GraphQL root field, also for the REST operation that corresponds to it; or `other`
   * @maxLength 100
   */
  operation: string;
  /**
   * Requests refused by the limits of the plan
   * @format int32
   * @min 0
   * @max 2147483647
   */
  refused: number;
  /**
   * Requests that passed
   * @format int32
   * @min 0
   * @max 2147483647
   */
  requests: number;
  /** How it was used */
  transport: UsageTransport;
  /**
   * Units charged
   * @format int32
   * @min 0
   * @max 2147483647
   */
  units: number;
}

/**
 * What was used on a day, most units first.
 * @maxItems 100
 */
export type UsageOperations = UsageOperation[];

/**
 * How an operation was used.
 * @example "rest"
 */
export type UsageTransport = "rest" | "graphql" | "stream" | "webhook" | "mcp";

/**
 * A place in the event log, and where to send what comes after it.
 * @example {"id":"whk_8aFz3kQpLmN0tYvR","url":"https://example.org/petstore","types":["pet.updated"],"enabled":true,"after":"5f0c1d2e-41","createdAt":"2026-11-21T12:00:00Z"}
 */
export interface Webhook {
  /**
   * The place in the log: everything up to it was acknowledged
   * @minLength 1
   * @maxLength 2000
   */
  after: string;
  /**
   * When it was created
   * @format date-time
   */
  createdAt: string;
  /** Why it was disabled, if not by its owner */
  disabledReason?: "failing" | "gone" | "events_expired" | "key";
  /** Whether events are sent */
  enabled: boolean;
  /** The event that cannot be delivered at the moment */
  failing?: WebhookFailure;
  /**
   * An opaque id
   * @minLength 1
   * @maxLength 100
   */
  id: string;
  /** What requests are signed with; only when created and rotated */
  secret?: string;
  /**
   * The types of the events to send; all if absent
   * @maxItems 10
   * @minItems 1
   * @uniqueItems true
   */
  types?: EventType[];
  /**
   * Where events are sent: an https:// address
   * @format uri
   * @maxLength 2048
   */
  url: string;
}

/**
 * One request to the receiver of a webhook.
 * @example {"eventId":"5f0c1d2e-42","time":"2026-11-21T12:00:00.123Z","ms":48,"status":204}
 */
export interface WebhookAttempt {
  /** Why there was no response that counts */
  error?:
    | "dns"
    | "refused_address"
    | "connect"
    | "tls"
    | "timeout"
    | "redirect";
  /**
   * The event that was sent
   * @minLength 1
   * @maxLength 2000
   */
  eventId: string;
  /**
   * How long it took, in milliseconds
   * @format int32
   * @min 0
   */
  ms: number;
  /**
   * The HTTP status of the response, if there was one
   * @format int32
   * @min 100
   */
  status?: number;
  /**
   * When it began
   * @format date-time
   */
  time: string;
}

/**
 * A page of records, ordered by id.
 * @maxItems 100
 */
export type WebhookAttempts = WebhookAttempt[];

/**
 * An event that cannot be delivered, for which all later ones wait.
 * @example {"eventId":"5f0c1d2e-42","since":"2026-11-21T12:00:00Z","attempts":2,"nextAttemptAt":"2026-11-21T12:00:06Z"}
 */
export interface WebhookFailure {
  /**
   * How often it was attempted
   * @format int32
   * @min 1
   */
  attempts: number;
  /**
   * The event
   * @minLength 1
   * @maxLength 2000
   */
  eventId: string;
  /**
   * When it is attempted again
   * @format date-time
   */
  nextAttemptAt: string;
  /**
   * When its first attempt failed
   * @format date-time
   */
  since: string;
}

/**
 * The fields to change.
 * @example {"enabled":false}
 */
export interface WebhookPatch {
  /**
   * The place in the log: everything up to it was acknowledged
   * @minLength 1
   * @maxLength 2000
   */
  after?: string;
  /** Whether events are sent */
  enabled?: boolean;
  /**
   * The types of the events to send; all if absent
   * @maxItems 10
   * @minItems 1
   * @uniqueItems true
   */
  types?: EventType[] | null;
  /**
   * Where events are sent: an https:// address
   * @format uri
   * @maxLength 2048
   */
  url?: string;
}

/**
 * How to rotate.
 * @example {"grace":86400}
 */
export interface WebhookRotation {
  /**
   * How many seconds the old secret signs too
   * @format int32
   * @min 0
   * @max 604800
   */
  grace?: number;
}

/**
 * A page of records, ordered by id.
 * @maxItems 100
 */
export type Webhooks = Webhook[];

export type QueryParamsType = Record<string | number, any>;
export type ResponseFormat = keyof Omit<Body, "body" | "bodyUsed">;

export interface FullRequestParams extends Omit<RequestInit, "body"> {
  /** set parameter to `true` for call `securityWorker` for this request */
  secure?: boolean;
  /** request path */
  path: string;
  /** content type of request body */
  type?: ContentType;
  /** query params */
  query?: QueryParamsType;
  /** format of response (i.e. response.json() -> format: "json") */
  format?: ResponseFormat;
  /** request body */
  body?: unknown;
  /** base url */
  baseUrl?: string;
  /** request cancellation token */
  cancelToken?: CancelToken;
}

export type RequestParams = Omit<
  FullRequestParams,
  "body" | "method" | "query" | "path"
>;

export interface ApiConfig<SecurityDataType = unknown> {
  baseUrl?: string;
  baseApiParams?: Omit<RequestParams, "baseUrl" | "cancelToken" | "signal">;
  securityWorker?: (
    securityData: SecurityDataType | null,
  ) => Promise<RequestParams | void> | RequestParams | void;
  customFetch?: typeof fetch;
}

export interface HttpResponse<D extends unknown, E extends unknown = unknown>
  extends Response {
  data: D;
  error: E;
}

type CancelToken = Symbol | string | number;

export type ContentType =
  | "application/json"
  | "application/vnd.api+json"
  | "multipart/form-data"
  | "application/x-www-form-urlencoded"
  | "text/plain";

export class HttpClient<SecurityDataType = unknown> {
  public baseUrl: string = "/";
  private securityData: SecurityDataType | null = null;
  private securityWorker?: ApiConfig<SecurityDataType>["securityWorker"];
  private abortControllers = new Map<CancelToken, AbortController>();
  private customFetch = (...fetchParams: Parameters<typeof fetch>) =>
    fetch(...fetchParams);

  private baseApiParams: RequestParams = {
    credentials: "same-origin",
    headers: {},
    redirect: "follow",
    referrerPolicy: "no-referrer",
  };

  constructor(apiConfig: ApiConfig<SecurityDataType> = {}) {
    Object.assign(this, apiConfig);
  }

  public setSecurityData = (data: SecurityDataType | null) => {
    this.securityData = data;
  };

  protected encodeQueryParam(key: string, value: any) {
    const encodedKey = encodeURIComponent(key);
    return `${encodedKey}=${encodeURIComponent(typeof value === "number" ? value : `${value}`)}`;
  }

  protected addQueryParam(query: QueryParamsType, key: string) {
    return this.encodeQueryParam(key, query[key]);
  }

  protected addArrayQueryParam(query: QueryParamsType, key: string) {
    const value = query[key];
    return value.map((v: any) => this.encodeQueryParam(key, v)).join("&");
  }

  protected toQueryString(rawQuery?: QueryParamsType): string {
    const query = rawQuery || {};
    const keys = Object.keys(query).filter(
      (key) => "undefined" !== typeof query[key],
    );
    return keys
      .map((key) =>
        Array.isArray(query[key])
          ? this.addArrayQueryParam(query, key)
          : this.addQueryParam(query, key),
      )
      .join("&");
  }

  protected addQueryParams(rawQuery?: QueryParamsType): string {
    const queryString = this.toQueryString(rawQuery);
    return queryString ? `?${queryString}` : "";
  }

  private contentFormatters: Record<ContentType, (input: any) => any> = {
    ["application/json"]: (input: any) =>
      input !== null && (typeof input === "object" || typeof input === "string")
        ? JSON.stringify(input)
        : input,
    ["application/vnd.api+json"]: (input: any) =>
      input !== null && (typeof input === "object" || typeof input === "string")
        ? JSON.stringify(input)
        : input,
    ["text/plain"]: (input: any) =>
      input !== null && typeof input !== "string"
        ? JSON.stringify(input)
        : input,
    ["multipart/form-data"]: (input: any) => {
      if (input instanceof FormData) {
        return input;
      }

      return Object.keys(input || {}).reduce((formData, key) => {
        const property = input[key];
        formData.append(
          key,
          property instanceof Blob
            ? property
            : typeof property === "object" && property !== null
              ? JSON.stringify(property)
              : `${property}`,
        );
        return formData;
      }, new FormData());
    },
    ["application/x-www-form-urlencoded"]: (input: any) =>
      this.toQueryString(input),
  };

  protected mergeRequestParams(
    params1: RequestParams,
    params2?: RequestParams,
  ): RequestParams {
    return {
      ...this.baseApiParams,
      ...params1,
      ...(params2 || {}),
      headers: {
        ...(this.baseApiParams.headers || {}),
        ...(params1.headers || {}),
        ...((params2 && params2.headers) || {}),
      },
    };
  }

  protected createAbortSignal = (
    cancelToken: CancelToken,
  ): AbortSignal | undefined => {
    if (this.abortControllers.has(cancelToken)) {
      const abortController = this.abortControllers.get(cancelToken);
      if (abortController) {
        return abortController.signal;
      }
      return void 0;
    }

    const abortController = new AbortController();
    this.abortControllers.set(cancelToken, abortController);
    return abortController.signal;
  };

  public abortRequest = (cancelToken: CancelToken) => {
    const abortController = this.abortControllers.get(cancelToken);

    if (abortController) {
      abortController.abort();
      this.abortControllers.delete(cancelToken);
    }
  };

  public request = async <T = any, E = any>({
    body,
    secure,
    path,
    type,
    query,
    format,
    baseUrl,
    cancelToken,
    ...params
  }: FullRequestParams): Promise<HttpResponse<T, E>> => {
    const secureParams =
      ((typeof secure === "boolean" ? secure : this.baseApiParams.secure) &&
        this.securityWorker &&
        (await this.securityWorker(this.securityData))) ||
      {};
    const requestParams = this.mergeRequestParams(params, secureParams);
    const queryString = query && this.toQueryString(query);
    const payloadFormatter = this.contentFormatters[type || "application/json"];
    const responseFormat = format || requestParams.format;

    return this.customFetch(
      `${baseUrl || this.baseUrl || ""}${path}${queryString ? `?${queryString}` : ""}`,
      {
        ...requestParams,
        headers: {
          ...(requestParams.headers || {}),
          ...(type && type !== "multipart/form-data"
            ? { "Content-Type": type }
            : {}),
        },
        signal:
          (cancelToken
            ? this.createAbortSignal(cancelToken)
            : requestParams.signal) || null,
        body:
          typeof body === "undefined" || body === null
            ? null
            : payloadFormatter(body),
      },
    ).then(async (response) => {
      const r = response as HttpResponse<T, E>;
      r.data = null as unknown as T;
      r.error = null as unknown as E;

      const responseToParse = responseFormat ? response.clone() : response;
      const data = !responseFormat
        ? r
        : await responseToParse[responseFormat]()
            .then((data) => {
              if (r.ok) {
                r.data = data;
              } else {
                r.error = data;
              }
              return r;
            })
            .catch((e) => {
              r.error = e;
              return r;
            });

      if (cancelToken) {
        this.abortControllers.delete(cancelToken);
      }

      if (!response.ok) throw data;
      return data;
    });
  };
}

/**
 * @title Petstore
 * @version 1.0.0
 * @license MIT (https://opensource.org/license/mit)
 * @baseUrl /
 * @contact The operator of this gateway
 *
 * The store's data over REST. GraphQL at `/graphql` serves the same data and shares the same budget.
 *
 * - **Key**: `X-API-Key: <key>` or `Authorization: Bearer <key>`, never in a URL.
 * - **Limits**: every response has `X-RateLimit-*` for the window with the smaller remainder, and `RateLimit` for both windows. The `Retry-After` of a 429 says how many seconds to wait. Keys that keep sending in the meantime are temporarily banned (403).
 * - **Errors** are always an Error object: `code` for programs, `message` for people, and the HTTP `status`.
 * - **Retries**: a POST or PATCH with an `Idempotency-Key` is carried out once, however often it is sent within 24 hours.
 * - **Versions**: every GET has an `ETag`. Send it in `If-None-Match` to skip an unchanged body, or in `If-Match` to change only the version you have seen.
 * - **Ids** are int64, exact up to 9223372036854775807. JavaScript rounds integers beyond 2^53. With `Accept: application/json;IEEE754Compatible=true` (the parameter is OData's) every int64 is returned as a string of digits instead, and a body with that `Content-Type` may have ids as strings of digits.
 * - **Strictness**: unknown fields and query parameters are refused.
 */
export class Api<SecurityDataType extends unknown> {
  http: HttpClient<SecurityDataType>;

  constructor(http: HttpClient<SecurityDataType>) {
    this.http = http;
  }

  pets = {
    /**
     * @description Ordered by ascending id. If there are more pages, `Link` with `rel="next"` leads to the next. Supports `If-None-Match` with the `ETag` of an earlier response. With `Accept: application/x-ndjson`, the response is the whole list from `after` on, or `limit` records (up to 1,000,000), one per line. Costs 1 unit per 100 records. If the budget is used up or the server stops, the last line is an Error with one more field, `after`, to continue from.
     *
     * @tags Pets
     * @name ListPets
     * @summary List pets
     * @request GET:/pets
     * @secure
     */
    listPets: (
      query?: {
        /** The last id already seen. 0 starts at the beginning. With another `sort` than `id`, the value from the `Link` to the page. */
        after?: number | string;
        /**
         * Only pets in this category.
         * @format int64
         * @min 1
         * @max 9223372036854776000
         */
        categoryId?: number;
        /**
         * Maximum number of items.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only pets whose name begins with this, regardless of case and accents. They are ordered by name.
         * @minLength 1
         * @pattern ^[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]{0,198}[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$
         */
        name?: string;
        /**
         * The order of the list; `-` is descending. Equal values are ordered by id in the same direction; absent ones come last.
         * @default "id"
         */
        sort?: "id" | "-id" | "name" | "-name";
        /**
         * Only pets with this status. May be repeated.
         * @minItems 1
         */
        status?: PetStatus[];
      },
      params: RequestParams = {},
    ) =>
      this.http.request<Pets, void | Error>({
        path: `/pets`,
        method: "GET",
        query: query,
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description The stock of the pet is 0 until it is set. An `Idempotency-Key` makes the call safe to retry.
     *
     * @tags Pets
     * @name CreatePet
     * @summary Create a pet
     * @request POST:/pets
     * @secure
     * @link `201.getPet` operationId:getPet
     * @link `201.replacePet` operationId:replacePet
     * @link `201.updatePet` operationId:updatePet
     * @link `201.deletePet` operationId:deletePet
     * @link `201.getInventoryItem` operationId:getInventoryItem
     * @link `201.replaceInventory` operationId:replaceInventory
     * @link `201.updateInventory` operationId:updateInventory
     */
    createPet: (data: NewPet, params: RequestParams = {}) =>
      this.http.request<Pet, Error>({
        path: `/pets`,
        method: "POST",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description **Deprecated** since 2026-07-01, sunset on 2027-06-30. Use `pet(id:)` of the GraphQL API instead. Supports `If-None-Match` with the `ETag` of an earlier response.
     *
     * @tags Pets
     * @name GetPet
     * @summary Get a pet
     * @request GET:/pets/{petId}
     * @deprecated
     * @secure
     */
    getPet: (petId: number, params: RequestParams = {}) =>
      this.http.request<Pet, void | Error>({
        path: `/pets/${petId}`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Replaces the whole record: omitted optional fields are reset to their default or removed. With `If-Match`, only the version you have seen is changed. The response to a GET can be sent back: the body may repeat `id` unchanged.
     *
     * @tags Pets
     * @name ReplacePet
     * @summary Replace a pet
     * @request PUT:/pets/{petId}
     * @secure
     */
    replacePet: (petId: number, data: NewPet, params: RequestParams = {}) =>
      this.http.request<Pet, Error>({
        path: `/pets/${petId}`,
        method: "PUT",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description A JSON merge patch (RFC 7396): omitted fields stay as they are, `null` removes an optional field, and `{}` changes nothing. With `If-Match`, only the version you have seen is changed. An `Idempotency-Key` makes the call safe to retry. The response to a GET can be sent back: the body may repeat `id` unchanged. **Beta**: details may change within version 1.
     *
     * @tags Pets
     * @name UpdatePet
     * @summary Update a pet
     * @request PATCH:/pets/{petId}
     * @secure
     */
    updatePet: (petId: number, data: PetPatch, params: RequestParams = {}) =>
      this.http.request<Pet, Error>({
        path: `/pets/${petId}`,
        method: "PATCH",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description Refused while the pet has incomplete orders. The deletion is permanent. With `If-Match`, only the version you have seen is changed.
     *
     * @tags Pets
     * @name DeletePet
     * @summary Delete a pet
     * @request DELETE:/pets/{petId}
     * @secure
     */
    deletePet: (petId: number, params: RequestParams = {}) =>
      this.http.request<void, Error>({
        path: `/pets/${petId}`,
        method: "DELETE",
        secure: true,
        ...params,
      }),
  };
  categories = {
    /**
     * @description Ordered by ascending id. If there are more pages, `Link` with `rel="next"` leads to the next. Supports `If-None-Match` with the `ETag` of an earlier response. With `Accept: application/x-ndjson`, the response is the whole list from `after` on, or `limit` records (up to 1,000,000), one per line. Costs 1 unit per 100 records. If the budget is used up or the server stops, the last line is an Error with one more field, `after`, to continue from. **Experimental**: may change or disappear at any time.
     *
     * @tags Pets
     * @name ListPetsOfCategory
     * @summary List the pets in a category
     * @request GET:/categories/{categoryId}/pets
     * @secure
     */
    listPetsOfCategory: (
      categoryId: number,
      query?: {
        /** The last id already seen. 0 starts at the beginning. With another `sort` than `id`, the value from the `Link` to the page. */
        after?: number | string;
        /**
         * Maximum number of items.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only pets whose name begins with this, regardless of case and accents. They are ordered by name.
         * @minLength 1
         * @pattern ^[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]{0,198}[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$
         */
        name?: string;
        /**
         * The order of the list; `-` is descending. Equal values are ordered by id in the same direction; absent ones come last.
         * @default "id"
         */
        sort?: "id" | "-id" | "name" | "-name";
        /**
         * Only pets with this status. May be repeated.
         * @minItems 1
         */
        status?: PetStatus[];
      },
      params: RequestParams = {},
    ) =>
      this.http.request<Pets, void | Error>({
        path: `/categories/${categoryId}/pets`,
        method: "GET",
        query: query,
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Ordered by ascending id. If there are more pages, `Link` with `rel="next"` leads to the next. Supports `If-None-Match` with the `ETag` of an earlier response. With `Accept: application/x-ndjson`, the response is the whole list from `after` on, or `limit` records (up to 1,000,000), one per line. Costs 1 unit per 100 records. If the budget is used up or the server stops, the last line is an Error with one more field, `after`, to continue from.
     *
     * @tags Pets
     * @name ListCategories
     * @summary List categories
     * @request GET:/categories
     * @secure
     */
    listCategories: (
      query?: {
        /** The last id already seen. 0 starts at the beginning. With another `sort` than `id`, the value from the `Link` to the page. */
        after?: number | string;
        /**
         * Maximum number of items.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only categories whose name begins with this, regardless of case and accents. They are ordered by name.
         * @minLength 1
         * @pattern ^[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]{0,198}[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u0000-\u001f\u007f-\u009f])?[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$
         */
        name?: string;
        /**
         * The order of the list; `-` is descending. Equal values are ordered by id in the same direction; absent ones come last.
         * @default "id"
         */
        sort?: "id" | "-id" | "name" | "-name";
      },
      params: RequestParams = {},
    ) =>
      this.http.request<Categories, void | Error>({
        path: `/categories`,
        method: "GET",
        query: query,
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description An `Idempotency-Key` makes the call safe to retry.
     *
     * @tags Pets
     * @name CreateCategory
     * @summary Create a category
     * @request POST:/categories
     * @secure
     * @link `201.listPetsOfCategory` operationId:listPetsOfCategory
     * @link `201.getCategory` operationId:getCategory
     * @link `201.replaceCategory` operationId:replaceCategory
     * @link `201.updateCategory` operationId:updateCategory
     * @link `201.deleteCategory` operationId:deleteCategory
     */
    createCategory: (data: NewCategory, params: RequestParams = {}) =>
      this.http.request<Category, Error>({
        path: `/categories`,
        method: "POST",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description Supports `If-None-Match` with the `ETag` of an earlier response.
     *
     * @tags Pets
     * @name GetCategory
     * @summary Get a category
     * @request GET:/categories/{categoryId}
     * @secure
     */
    getCategory: (categoryId: number, params: RequestParams = {}) =>
      this.http.request<Category, void | Error>({
        path: `/categories/${categoryId}`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Replaces the whole record: omitted optional fields are reset to their default or removed. With `If-Match`, only the version you have seen is changed. The response to a GET can be sent back: the body may repeat `id` unchanged.
     *
     * @tags Pets
     * @name ReplaceCategory
     * @summary Replace a category
     * @request PUT:/categories/{categoryId}
     * @secure
     */
    replaceCategory: (
      categoryId: number,
      data: NewCategory,
      params: RequestParams = {},
    ) =>
      this.http.request<Category, Error>({
        path: `/categories/${categoryId}`,
        method: "PUT",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description A JSON merge patch (RFC 7396): omitted fields stay as they are, `null` removes an optional field, and `{}` changes nothing. With `If-Match`, only the version you have seen is changed. An `Idempotency-Key` makes the call safe to retry. The response to a GET can be sent back: the body may repeat `id` unchanged. **Beta**: details may change within version 1.
     *
     * @tags Pets
     * @name UpdateCategory
     * @summary Update a category
     * @request PATCH:/categories/{categoryId}
     * @secure
     */
    updateCategory: (
      categoryId: number,
      data: CategoryPatch,
      params: RequestParams = {},
    ) =>
      this.http.request<Category, Error>({
        path: `/categories/${categoryId}`,
        method: "PATCH",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description Refused while the category has pets. The deletion is permanent. With `If-Match`, only the version you have seen is changed.
     *
     * @tags Pets
     * @name DeleteCategory
     * @summary Delete a category
     * @request DELETE:/categories/{categoryId}
     * @secure
     */
    deleteCategory: (categoryId: number, params: RequestParams = {}) =>
      this.http.request<void, Error>({
        path: `/categories/${categoryId}`,
        method: "DELETE",
        secure: true,
        ...params,
      }),
  };
  store = {
    /**
     * @description Ordered by ascending id. If there are more pages, `Link` with `rel="next"` leads to the next. Supports `If-None-Match` with the `ETag` of an earlier response. With `Accept: application/x-ndjson`, the response is the whole list from `after` on, or `limit` records (up to 1,000,000), one per line. Costs 1 unit per 100 records. If the budget is used up or the server stops, the last line is an Error with one more field, `after`, to continue from.
     *
     * @tags Store
     * @name ListOrders
     * @summary List orders
     * @request GET:/store/orders
     * @secure
     */
    listOrders: (
      query?: {
        /** The last id already seen. 0 starts at the beginning. With another `sort` than `id`, the value from the `Link` to the page. */
        after?: number | string;
        /** Only fulfilled orders, or only unfulfilled ones. */
        complete?: boolean;
        /**
         * Maximum number of items.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only orders for this pet.
         * @format int64
         * @min 1
         * @max 9223372036854776000
         */
        petId?: number;
        /**
         * The order of the list; `-` is descending. Equal values are ordered by id in the same direction; absent ones come last.
         * @default "id"
         */
        sort?: "id" | "-id" | "shipDate" | "-shipDate";
      },
      params: RequestParams = {},
    ) =>
      this.http.request<Orders, void | Error>({
        path: `/store/orders`,
        method: "GET",
        query: query,
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description No field is required, and the id is assigned by default. Does not change the stock. An `Idempotency-Key` makes the call safe to retry.
     *
     * @tags Store
     * @name CreateOrder
     * @summary Create an order
     * @request POST:/store/orders
     * @secure
     * @link `201.getOrder` operationId:getOrder
     * @link `201.replaceOrder` operationId:replaceOrder
     * @link `201.updateOrder` operationId:updateOrder
     * @link `201.deleteOrder` operationId:deleteOrder
     */
    createOrder: (data: Order, params: RequestParams = {}) =>
      this.http.request<StoredOrder, Error>({
        path: `/store/orders`,
        method: "POST",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description Supports `If-None-Match` with the `ETag` of an earlier response.
     *
     * @tags Store
     * @name GetOrder
     * @summary Get an order
     * @request GET:/store/orders/{orderId}
     * @secure
     */
    getOrder: (orderId: number, params: RequestParams = {}) =>
      this.http.request<StoredOrder, void | Error>({
        path: `/store/orders/${orderId}`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Replaces the whole record: omitted optional fields are reset to their default or removed. With `If-Match`, only the version you have seen is changed. The response to a GET can be sent back: the body may repeat `id` unchanged.
     *
     * @tags Store
     * @name ReplaceOrder
     * @summary Replace an order
     * @request PUT:/store/orders/{orderId}
     * @secure
     */
    replaceOrder: (orderId: number, data: Order, params: RequestParams = {}) =>
      this.http.request<StoredOrder, Error>({
        path: `/store/orders/${orderId}`,
        method: "PUT",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description A JSON merge patch (RFC 7396): omitted fields stay as they are, `null` removes an optional field, and `{}` changes nothing. With `If-Match`, only the version you have seen is changed. An `Idempotency-Key` makes the call safe to retry. The response to a GET can be sent back: the body may repeat `id` unchanged. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name UpdateOrder
     * @summary Update an order
     * @request PATCH:/store/orders/{orderId}
     * @secure
     */
    updateOrder: (
      orderId: number,
      data: OrderPatch,
      params: RequestParams = {},
    ) =>
      this.http.request<StoredOrder, Error>({
        path: `/store/orders/${orderId}`,
        method: "PATCH",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description The deletion is permanent. With `If-Match`, only the version you have seen is changed.
     *
     * @tags Store
     * @name DeleteOrder
     * @summary Delete an order
     * @request DELETE:/store/orders/{orderId}
     * @secure
     */
    deleteOrder: (orderId: number, params: RequestParams = {}) =>
      this.http.request<void, Error>({
        path: `/store/orders/${orderId}`,
        method: "DELETE",
        secure: true,
        ...params,
      }),

    /**
     * @description Ordered by ascending id. If there are more pages, `Link` with `rel="next"` leads to the next. Supports `If-None-Match` with the `ETag` of an earlier response. With `Accept: application/x-ndjson`, the response is the whole list from `after` on, or `limit` records (up to 1,000,000), one per line. Costs 1 unit per 100 records. If the budget is used up or the server stops, the last line is an Error with one more field, `after`, to continue from.
     *
     * @tags Store
     * @name ListInventory
     * @summary List the inventory
     * @request GET:/store/inventory
     * @secure
     */
    listInventory: (
      query?: {
        /** The last id already seen. 0 starts at the beginning. With another `sort` than `id`, the value from the `Link` to the page. */
        after?: number | string;
        /**
         * Maximum number of items.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * The order of the list; `-` is descending. Equal values are ordered by id in the same direction; absent ones come last.
         * @default "id"
         */
        sort?: "id" | "-id" | "quantity" | "-quantity";
        /**
         * Only pets with this status. May be repeated.
         * @minItems 1
         */
        status?: PetStatus[];
      },
      params: RequestParams = {},
    ) =>
      this.http.request<InventoryItems, void | Error>({
        path: `/store/inventory`,
        method: "GET",
        query: query,
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Supports `If-None-Match` with the `ETag` of an earlier response.
     *
     * @tags Store
     * @name GetInventoryItem
     * @summary Get the inventory entry of a pet
     * @request GET:/store/inventory/{petId}
     * @secure
     */
    getInventoryItem: (petId: number, params: RequestParams = {}) =>
      this.http.request<InventoryItem, void | Error>({
        path: `/store/inventory/${petId}`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Replaces the whole record: omitted optional fields are reset to their default or removed. With `If-Match`, only the version you have seen is changed. The response to a GET can be sent back: the body may repeat `petId` and `status` unchanged.
     *
     * @tags Store
     * @name ReplaceInventory
     * @summary Set the stock of a pet
     * @request PUT:/store/inventory/{petId}
     * @secure
     */
    replaceInventory: (
      petId: number,
      data: InventoryUpdate,
      params: RequestParams = {},
    ) =>
      this.http.request<InventoryItem, Error>({
        path: `/store/inventory/${petId}`,
        method: "PUT",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description A JSON merge patch (RFC 7396): omitted fields stay as they are, `null` removes an optional field, and `{}` changes nothing. With `If-Match`, only the version you have seen is changed. An `Idempotency-Key` makes the call safe to retry. The response to a GET can be sent back: the body may repeat `petId` and `status` unchanged. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name UpdateInventory
     * @summary Update the stock of a pet
     * @request PATCH:/store/inventory/{petId}
     * @secure
     */
    updateInventory: (
      petId: number,
      data: InventoryPatch,
      params: RequestParams = {},
    ) =>
      this.http.request<InventoryItem, Error>({
        path: `/store/inventory/${petId}`,
        method: "PATCH",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),
  };
  events = {
    /**
     * @description Every committed write once, oldest first. By default starts with the oldest event kept. The response always has a `Link` with `rel="next"`: poll it to miss nothing. A page may have fewer events than `limit` even if there are more. With `wait`, an empty page is answered once there is an event, or when the time is over.
     *
     * @tags Store
     * @name ListEvents
     * @summary List events
     * @request GET:/events
     * @secure
     */
    listEvents: (
      query?: {
        /**
         * Only events after this one.
         * @minLength 1
         * @maxLength 2000
         */
        after?: string;
        /**
         * Maximum number of items.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only events of this type. May be given several times, with different types.
         * @minItems 1
         * @uniqueItems true
         */
        type?: EventType[];
        /**
         * Long polling: how many seconds to wait for an event if there is none yet. Counts as an open stream.
         * @format int32
         * @min 1
         * @max 25
         */
        wait?: number;
      },
      params: RequestParams = {},
    ) =>
      this.http.request<Events, void | Error>({
        path: `/events`,
        method: "GET",
        query: query,
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Server-sent events with `id`, `event` (the type) and `data` (the whole Event) for every write as it is committed. Resumes after `Last-Event-ID` or `after`, and otherwise starts from now. A comment is sent every 15 seconds. Costs 1 unit to open and 1 for every 100 events. When the budget is used up, the stream ends with an `error` event whose data is an Error.
     *
     * @tags Store
     * @name StreamEvents
     * @summary Stream events
     * @request GET:/events/stream
     * @secure
     */
    streamEvents: (
      query?: {
        /**
         * Only events after this one.
         * @minLength 1
         * @maxLength 2000
         */
        after?: string;
        /**
         * Only events of this type. May be given several times, with different types.
         * @minItems 1
         * @uniqueItems true
         */
        type?: EventType[];
      },
      params: RequestParams = {},
    ) =>
      this.http.request<string, Error>({
        path: `/events/stream`,
        method: "GET",
        query: query,
        secure: true,
        ...params,
      }),
  };
  webhooks = {
    /**
     * @description All webhooks of this key, oldest first. Supports `If-None-Match` with the `ETag` of an earlier response. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name ListWebhooks
     * @summary List webhooks
     * @request GET:/webhooks
     * @secure
     */
    listWebhooks: (params: RequestParams = {}) =>
      this.http.request<Webhooks, void | Error>({
        path: `/webhooks`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Sends every event from now on, or after `after`, to `url`, signed with the `secret` of the response (Standard Webhooks 1.0.0). Costs 1 unit per 10 attempts. The plan limits the number of webhooks. An `Idempotency-Key` makes the call safe to retry. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name CreateWebhook
     * @summary Create a webhook
     * @request POST:/webhooks
     * @secure
     * @link `201.getWebhook` operationId:getWebhook
     * @link `201.updateWebhook` operationId:updateWebhook
     * @link `201.deleteWebhook` operationId:deleteWebhook
     * @link `201.listWebhookAttempts` operationId:listWebhookAttempts
     * @link `201.rotateWebhookSecret` operationId:rotateWebhookSecret
     * @link `201.testWebhook` operationId:testWebhook
     */
    createWebhook: (data: NewWebhook, params: RequestParams = {}) =>
      this.http.request<Webhook, Error>({
        path: `/webhooks`,
        method: "POST",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description Supports `If-None-Match` with the `ETag` of an earlier response. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name GetWebhook
     * @summary Get a webhook
     * @request GET:/webhooks/{webhookId}
     * @secure
     */
    getWebhook: (webhookId: string, params: RequestParams = {}) =>
      this.http.request<Webhook, void | Error>({
        path: `/webhooks/${webhookId}`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description Pauses it with `enabled: false`, which keeps the place, or moves it with `after`. Any change ends a running wait and takes effect within 5 seconds. A JSON merge patch (RFC 7396): omitted fields stay as they are, `null` removes an optional field, and `{}` changes nothing. With `If-Match`, only the version you have seen is changed. An `Idempotency-Key` makes the call safe to retry. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name UpdateWebhook
     * @summary Update a webhook
     * @request PATCH:/webhooks/{webhookId}
     * @secure
     */
    updateWebhook: (
      webhookId: string,
      data: WebhookPatch,
      params: RequestParams = {},
    ) =>
      this.http.request<Webhook, Error>({
        path: `/webhooks/${webhookId}`,
        method: "PATCH",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description The deletion is permanent. With `If-Match`, only the version you have seen is changed. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name DeleteWebhook
     * @summary Delete a webhook
     * @request DELETE:/webhooks/{webhookId}
     * @secure
     */
    deleteWebhook: (webhookId: string, params: RequestParams = {}) =>
      this.http.request<void, Error>({
        path: `/webhooks/${webhookId}`,
        method: "DELETE",
        secure: true,
        ...params,
      }),

    /**
     * @description The last 20 attempts, newest first. Supports `If-None-Match` with the `ETag` of an earlier response. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name ListWebhookAttempts
     * @summary List attempts of a webhook
     * @request GET:/webhooks/{webhookId}/attempts
     * @secure
     */
    listWebhookAttempts: (webhookId: string, params: RequestParams = {}) =>
      this.http.request<WebhookAttempts, void | Error>({
        path: `/webhooks/${webhookId}/attempts`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description The old secret signs too for `grace` seconds, 86400 unless given. An `Idempotency-Key` makes the call safe to retry. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name RotateWebhookSecret
     * @summary Rotate the secret of a webhook
     * @request POST:/webhooks/{webhookId}/rotate
     * @secure
     */
    rotateWebhookSecret: (
      webhookId: string,
      data?: WebhookRotation,
      params: RequestParams = {},
    ) =>
      this.http.request<Webhook, Error>({
        path: `/webhooks/${webhookId}/rotate`,
        method: "POST",
        body: data,
        secure: true,
        type: "application/json",
        format: "json",
        ...params,
      }),

    /**
     * @description Sends a `webhook.test` now, even while disabled, and returns what came of it. An `Idempotency-Key` makes the call safe to retry. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name TestWebhook
     * @summary Test a webhook
     * @request POST:/webhooks/{webhookId}/test
     * @secure
     */
    testWebhook: (webhookId: string, params: RequestParams = {}) =>
      this.http.request<WebhookAttempt, Error>({
        path: `/webhooks/${webhookId}/test`,
        method: "POST",
        secure: true,
        format: "json",
        ...params,
      }),
  };
  key = {
    /**
     * @description Supports `If-None-Match` with the `ETag` of an earlier response. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name GetKey
     * @summary Get the API key of the request
     * @request GET:/key
     * @secure
     */
    getKey: (params: RequestParams = {}) =>
      this.http.request<ApiKey, void | Error>({
        path: `/key`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),
  };
  usage = {
    /**
     * @description Days are kept for 92 days. The latest requests may be missing for up to 10 seconds. Supports `If-None-Match` with the `ETag` of an earlier response. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name ListUsage
     * @summary List the days on which the API key was used
     * @request GET:/usage
     * @secure
     */
    listUsage: (
      query?: {
        /**
         * The first day, in UTC; by default 6 days before the last.
         * @format date
         */
        from?: string;
        /**
         * The last day, in UTC; today by default.
         * @format date
         */
        to?: string;
      },
      params: RequestParams = {},
    ) =>
      this.http.request<UsageDays, void | Error>({
        path: `/usage`,
        method: "GET",
        query: query,
        secure: true,
        format: "json",
        ...params,
      }),

    /**
     * @description At most 100 operations; the rest is summed as `other`. Supports `If-None-Match` with the `ETag` of an earlier response. **Beta**: details may change within version 1.
     *
     * @tags Store
     * @name ListUsageOfDay
     * @summary List what the API key did on one day
     * @request GET:/usage/{date}
     * @secure
     */
    listUsageOfDay: (date: string, params: RequestParams = {}) =>
      this.http.request<UsageOperations, void | Error>({
        path: `/usage/${date}`,
        method: "GET",
        secure: true,
        format: "json",
        ...params,
      }),
  };
}

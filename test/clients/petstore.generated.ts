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
 * One page, ordered by id.
 * @maxItems 100
 */
export type Categories = Category[];

/**
 * A kind of animals.
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
   * Unique identifier assigned on creation
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
 * What to change.
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
 * A record that is gone.
 * @example {"id":1}
 */
export interface Deleted {
  /**
   * Its id
   * @format int64
   * @min 1
   */
  id: number;
}

/**
 * What went wrong.
 * @example {"code":"NOT_FOUND","message":"There is no such resource or path.","status":404}
 */
export interface Error {
  /** A machine-readable error code */
  code:
    | "BAD_REQUEST"
    | "VALIDATION_FAILED"
    | "UNAUTHENTICATED"
    | "API_KEY_BANNED"
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
  /** The record as the write left it; of a deleted one only its id */
  data: Pet | Category | StoredOrder | InventoryItem | Deleted;
  /**
   * Opaque; to read on from
   * @minLength 1
   * @maxLength 2000
   */
  id: string;
  /**
   * When it was written
   * @format date-time
   */
  time: string;
  /** What happened */
  type: EventType;
}

/**
 * What an event tells of.
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
 * One page, ordered by id.
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
 * One page, ordered by id.
 * @maxItems 100
 */
export type InventoryItems = InventoryItem[];

/**
 * What to change.
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
 * What to put in the place of what is there.
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
 * What to create, or to put in the place of what is there.
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
 * What to create, or to put in the place of what is there.
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
  /** Status of the pet; `available` unless given */
  status?: PetStatus;
}

/**
 * An order for an animal. No field is required.
 * @example {"petId":1,"quantity":1,"shipDate":"2026-12-01T09:30:00Z","complete":false}
 */
export interface Order {
  /** Whether the order has been fulfilled; `false` unless given */
  complete?: boolean;
  /**
   * Unique order identifier
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
 * What to change.
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
 * One page, ordered by id.
 * @maxItems 100
 */
export type Orders = StoredOrder[];

/**
 * An animal of the store.
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
   * Unique identifier assigned on creation
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
 * What to change.
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
 * Status of a pet.
 * @example "available"
 */
export type PetStatus = "available" | "pending" | "sold";

/**
 * One page, ordered by id.
 * @maxItems 100
 */
export type Pets = Pet[];

/**
 * An order as it is kept: its id and whether it is complete are always there.
 * @example {"id":1,"petId":1,"quantity":1,"shipDate":"2026-12-01T09:30:00Z","complete":false}
 */
export interface StoredOrder {
  /** Whether the order has been fulfilled */
  complete: boolean;
  /**
   * Unique order identifier
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
 * The data of the store; the same is served as GraphQL at `/graphql`, on the same budget.
 *
 * - **Key**: `X-API-Key: <key>` or `Authorization: Bearer <key>`, never in a URL.
 * - **Limits**: every response shows the window of the plan with the smaller remainder in `X-RateLimit-*`, and both windows in `RateLimit`. A 429 says in `Retry-After` how many seconds to wait; keys that keep on sending meanwhile are banned for a while (403).
 * - **Errors** are always an Error object: `code` for machines, `message` for people, `status` as in the status line.
 * - **Retries**: a POST or PATCH with an `Idempotency-Key` is done once, however often it is sent within 24 hours.
 * - **Versions**: every GET has an `ETag`; send it back in `If-None-Match` to save the body, or in `If-Match` to change nothing but the version you have seen.
 * - **Ids** are int64, exact up to 9223372036854775807. JavaScript rounds integers beyond 2^53: with `Accept: application/json;IEEE754Compatible=true` (the parameter is OData's) every int64 is answered as a string of digits instead, and a body of that `Content-Type` may give ids as strings of digits.
 * - **Strictness**: unknown fields and query parameters are refused.
 */
export class Api<SecurityDataType extends unknown> {
  http: HttpClient<SecurityDataType>;

  constructor(http: HttpClient<SecurityDataType>) {
    this.http = http;
  }

  pets = {
    /**
     * @description Ordered by id, ascending. Where there is a further page, `Link` with `rel="next"` leads to it. `If-None-Match` saves a body that has not changed.
     *
     * @tags Pets
     * @name ListPets
     * @summary List pets
     * @request GET:/pets
     * @secure
     */
    listPets: (
      query?: {
        /**
         * The last id already seen; 0 starts at the beginning.
         * @format int64
         * @min 0
         * @max 9223372036854776000
         */
        after?: number;
        /**
         * Only pets of this category.
         * @format int64
         * @min 1
         * @max 9223372036854776000
         */
        categoryId?: number;
        /**
         * How many items at most.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only pets with this status; may be given several times.
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
     * @description Its stock is 0 until it is set. An `Idempotency-Key` makes the call safe to repeat.
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
     * @description **Deprecated** since 2026-07-01, ends on 2027-06-30: use `pet(id:)` of the GraphQL API instead. The `ETag` names the version that is answered: `If-None-Match` saves a body that has not changed.
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
     * @description Replaces all of it: an optional field that the body leaves out gets its default or is removed. With `If-Match` it is done only to the version that you have seen. What a GET gave can be put back: the body may repeat `id` as it is.
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
     * @description A JSON merge patch (RFC 7396): what the body leaves out stays as it is, `null` removes an optional field, `{}` changes nothing. With `If-Match` it is done only to the version that you have seen. An `Idempotency-Key` makes the call safe to repeat. What a GET gave can be put back: the body may repeat `id` as it is. **Beta**: details may still change within version 1.
     *
     * @tags Pets
     * @name UpdatePet
     * @summary Change a pet
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
     * @description Refused while an order that is not complete names the pet. Deletes it for good. With `If-Match` it is done only to the version that you have seen.
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
     * @description Ordered by id, ascending. Where there is a further page, `Link` with `rel="next"` leads to it. `If-None-Match` saves a body that has not changed. **Experimental**: may change or go at any time.
     *
     * @tags Pets
     * @name ListPetsOfCategory
     * @summary List the pets of a category
     * @request GET:/categories/{categoryId}/pets
     * @secure
     */
    listPetsOfCategory: (
      categoryId: number,
      query?: {
        /**
         * The last id already seen; 0 starts at the beginning.
         * @format int64
         * @min 0
         * @max 9223372036854776000
         */
        after?: number;
        /**
         * How many items at most.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only pets with this status; may be given several times.
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
     * @description Ordered by id, ascending. Where there is a further page, `Link` with `rel="next"` leads to it. `If-None-Match` saves a body that has not changed.
     *
     * @tags Pets
     * @name ListCategories
     * @summary List categories
     * @request GET:/categories
     * @secure
     */
    listCategories: (
      query?: {
        /**
         * The last id already seen; 0 starts at the beginning.
         * @format int64
         * @min 0
         * @max 9223372036854776000
         */
        after?: number;
        /**
         * How many items at most.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
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
     * @description An `Idempotency-Key` makes the call safe to repeat.
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
     * @description The `ETag` names the version that is answered: `If-None-Match` saves a body that has not changed.
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
     * @description Replaces all of it: an optional field that the body leaves out gets its default or is removed. With `If-Match` it is done only to the version that you have seen. What a GET gave can be put back: the body may repeat `id` as it is.
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
     * @description A JSON merge patch (RFC 7396): what the body leaves out stays as it is, `null` removes an optional field, `{}` changes nothing. With `If-Match` it is done only to the version that you have seen. An `Idempotency-Key` makes the call safe to repeat. What a GET gave can be put back: the body may repeat `id` as it is. **Beta**: details may still change within version 1.
     *
     * @tags Pets
     * @name UpdateCategory
     * @summary Change a category
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
     * @description Refused while a pet is in the category. Deletes it for good. With `If-Match` it is done only to the version that you have seen.
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
     * @description Ordered by id, ascending. Where there is a further page, `Link` with `rel="next"` leads to it. `If-None-Match` saves a body that has not changed.
     *
     * @tags Store
     * @name ListOrders
     * @summary List orders
     * @request GET:/store/orders
     * @secure
     */
    listOrders: (
      query?: {
        /**
         * The last id already seen; 0 starts at the beginning.
         * @format int64
         * @min 0
         * @max 9223372036854776000
         */
        after?: number;
        /** Only orders that are fulfilled, or only those that are not. */
        complete?: boolean;
        /**
         * How many items at most.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only orders that name this pet.
         * @format int64
         * @min 1
         * @max 9223372036854776000
         */
        petId?: number;
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
     * @description No field is required; the id is assigned unless given. Stock stays as it is. An `Idempotency-Key` makes the call safe to repeat.
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
     * @description The `ETag` names the version that is answered: `If-None-Match` saves a body that has not changed.
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
     * @description Replaces all of it: an optional field that the body leaves out gets its default or is removed. With `If-Match` it is done only to the version that you have seen. What a GET gave can be put back: the body may repeat `id` as it is.
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
     * @description A JSON merge patch (RFC 7396): what the body leaves out stays as it is, `null` removes an optional field, `{}` changes nothing. With `If-Match` it is done only to the version that you have seen. An `Idempotency-Key` makes the call safe to repeat. What a GET gave can be put back: the body may repeat `id` as it is. **Beta**: details may still change within version 1.
     *
     * @tags Store
     * @name UpdateOrder
     * @summary Change an order
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
     * @description Deletes it for good. With `If-Match` it is done only to the version that you have seen.
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
     * @description Ordered by id, ascending. Where there is a further page, `Link` with `rel="next"` leads to it. `If-None-Match` saves a body that has not changed.
     *
     * @tags Store
     * @name ListInventory
     * @summary List the inventory
     * @request GET:/store/inventory
     * @secure
     */
    listInventory: (
      query?: {
        /**
         * The last id already seen; 0 starts at the beginning.
         * @format int64
         * @min 0
         * @max 9223372036854776000
         */
        after?: number;
        /**
         * How many items at most.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only pets with this status; may be given several times.
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
     * @description The `ETag` names the version that is answered: `If-None-Match` saves a body that has not changed.
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
     * @description Replaces all of it: an optional field that the body leaves out gets its default or is removed. With `If-Match` it is done only to the version that you have seen. What a GET gave can be put back: the body may repeat `petId` and `status` as they are.
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
     * @description A JSON merge patch (RFC 7396): what the body leaves out stays as it is, `null` removes an optional field, `{}` changes nothing. With `If-Match` it is done only to the version that you have seen. An `Idempotency-Key` makes the call safe to repeat. What a GET gave can be put back: the body may repeat `petId` and `status` as they are. **Beta**: details may still change within version 1.
     *
     * @tags Store
     * @name UpdateInventory
     * @summary Change the stock of a pet
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
     * @description Every committed write once, oldest first; without `after`, from the oldest event that is kept. `Link` with `rel="next"` is always there: ask it again and again, and nothing is missed. A page may have fewer events than `limit` although there are more.
     *
     * @tags Store
     * @name ListEvents
     * @summary Read the log of changes
     * @request GET:/events
     * @secure
     */
    listEvents: (
      query?: {
        /**
         * Only events behind this one.
         * @minLength 1
         * @maxLength 2000
         */
        after?: string;
        /**
         * How many items at most.
         * @format int32
         * @min 1
         * @max 100
         * @default 20
         */
        limit?: number;
        /**
         * Only events of this type; may be given several times.
         * @minItems 1
         */
        type?: EventType[];
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
     * @description Server-sent events: `id`, `event` (the type) and `data` (the whole Event) of each write as it is committed. Goes on behind `Last-Event-ID` or `after`, else with what comes next. A comment comes every 15 seconds. Costs 1 unit to open and 1 for every 100 events; when the budget is used up, the last event is an `error`, whose data is an Error.
     *
     * @tags Store
     * @name StreamEvents
     * @summary Follow the log of changes
     * @request GET:/events/stream
     * @secure
     */
    streamEvents: (
      query?: {
        /**
         * Only events behind this one.
         * @minLength 1
         * @maxLength 2000
         */
        after?: string;
        /**
         * Only events of this type; may be given several times.
         * @minItems 1
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
}

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isNetwork } from './access/networks.ts';
import { parseInteger } from './foundation/id.ts';
import { parseDate, parseDuration, DAY } from './foundation/instant.ts';
import { oneOf, parsedText } from './foundation/validation.ts';

/** The folder with `dist` and package.json, which is above this file and every bundle that contains it. */
export const ROOT = new URL('..', import.meta.url);

/** The version of the gateway. */
export const VERSION: string = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')).version;

const onOff = z.stringbool({
  truthy: ['on'],
  falsy: ['off'],
  case: 'sensitive',
  error: 'must be on or off',
});

/** A path prefix, without `.` and `..`, which clients remove from paths before they send them. */
const prefix = z
  .string()
  .regex(/^(\/\.*[\w~-][\w.~-]*)*$/, 'must be empty or a path such as /api/v1, without a trailing slash')
  .default('');

const integer = (min: number, max: number) =>
  parsedText(`must be an integer from ${min} to ${max}`, (text) => parseInteger(text, min, max));

const retention = parsedText(
  'must be a duration such as 12h or 7d, at least 1s',
  (text) => parseDuration(text) || null,
);

const url = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' });

const otlpProtocol = oneOf(['http/protobuf', 'http/json']);

const day = parsedText('must be a date such as 2027-06-30', parseDate).transform(Date.parse);

const list = z.string().transform((value) => value.split(',').map((part) => part.trim()));

const isPlain = ({ username, password, search, hash }: URL): boolean =>
  `${username}${password}${search}${hash}` === '';

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

/** All settings. */
const VARIABLES = z.object({
  NODE_ENV: z.string().default('development'),
  PORT: integer(0, 65535).default(4000),
  HOST: z.string().default('127.0.0.1'),
  MONGODB_URI: z
    .string()
    .regex(
      /^mongodb(\+srv)?:\/\/[^/]+\/[^/?]+/,
      'must be a mongodb:// or mongodb+srv:// address that names a database',
    )
    .optional(),
  DATA_FILE: z.string().default('data/petstore.db'),
  DURABILITY: oneOf(['process', 'full']).default('process'),
  EVENTS_KEEP: retention.default(7 * DAY),
  SAMPLE_DATA: oneOf(['on', 'off']).optional(),
  BASE_PATH: prefix,
  REST_BASE_PATH: prefix,
  PUBLIC_URL: url
    .refine(
      (text) => !URL.canParse(text) || isPlain(new URL(text)),
      'must not have credentials, a query or a fragment',
    )
    .transform((text) => text.replace(/\/+$/, ''))
    .optional(),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  GRAPHIQL: onOff.default(true),
  INTROSPECTION: onOff.default(true),
  METRICS: onOff.default(true),
  MCP: onOff.default(true),
  REQUEST_LOG: onOff.default(true),
  CORS_ORIGIN: list
    .refine(
      (origins) => String(origins) === '*' || origins.every(isOrigin),
      'must be * or comma-separated origins such as https://example.org',
    )
    .default(['*']),
  TRUST_PROXY: integer(0, 10).default(0),
  DRAIN_DELAY: integer(0, 300).default(0),
  SUNSET_ENFORCED: onOff.default(false),
  DEPRECATION_DATE: day.default(Date.parse('2026-07-01T00:00:00Z')),
  SUNSET_DATE: day.default(Date.parse('2027-06-30T00:00:00Z')),
  WEBHOOK_ALLOW: list
    .refine((networks) => networks.every(isNetwork), 'must be comma-separated networks such as 10.0.0.0/8')
    .default([]),
  // The OpenTelemetry variables that enable and select the exporter. Its packages read the others.
  OTEL_SDK_DISABLED: z
    .string()
    .toLowerCase()
    .pipe(oneOf(['true', 'false']))
    .default('false'),
  OTEL_TRACES_EXPORTER: oneOf(['otlp', 'none']).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: otlpProtocol.default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: otlpProtocol.optional(),
});

const SETTINGS = VARIABLES.refine(({ DEPRECATION_DATE, SUNSET_DATE }) => !(SUNSET_DATE < DEPRECATION_DATE), {
  path: ['SUNSET_DATE'],
  // RFC 9745 section 4.
  error: 'must not be before DEPRECATION_DATE',
  // Also if other variables are invalid.
  when: () => true,
});

export type Config = z.output<typeof VARIABLES>;

/** The names of all settings. */
export const VARIABLE_NAMES = Object.keys(VARIABLES.shape);

/**
 * Reads the configuration. Empty variables count as unset.
 *
 * @throws Error that names every invalid variable
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const names = VARIABLE_NAMES.filter((name) => environment[name]);
  const values = Object.fromEntries(names.map((name) => [name, environment[name]]));
  const parsed = SETTINGS.safeParse(values, { jitless: true });
  const errors = new Map(parsed.error?.issues.map(({ path, message }) => [String(path[0]), message]));
  if (values.MONGODB_URI !== undefined && values.DATA_FILE !== undefined)
    errors.set('DATA_FILE', 'must not be set beside MONGODB_URI: it is the file of the embedded store');
  if (parsed.success && errors.size === 0) return parsed.data;
  const lines = [...errors].map(([name, message]) => `  ${name} ${message}`);
  throw new Error(`Invalid configuration:\n${lines.join('\n')}`);
}

/**
 * The base of all paths for clients: PUBLIC_URL if set, otherwise BASE_PATH. The path in PUBLIC_URL is where a proxy
 * serves the gateway, and may include BASE_PATH.
 */
export function publicBase({ PUBLIC_URL, BASE_PATH }: Config): string {
  if (PUBLIC_URL === undefined) return BASE_PATH;
  return new URL(PUBLIC_URL).pathname.endsWith(BASE_PATH) ? PUBLIC_URL : PUBLIC_URL + BASE_PATH;
}

/** The path of {@link publicBase}, for links of pages on the same origin. */
export const publicPath = (config: Config): string => publicBase(config).replace(/^https?:\/\/[^/]*/, '');

/** True if a trace exporter is configured, by the rules of the OpenTelemetry specification. */
export const isTracingConfigured = (config: Config): boolean =>
  config.OTEL_SDK_DISABLED !== 'true' &&
  config.OTEL_TRACES_EXPORTER !== 'none' &&
  (config.OTEL_TRACES_EXPORTER === 'otlp' ||
    config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined ||
    config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== undefined);

/** True outside production if only this machine reaches the server, which may then call and show local resources. */
export const isLocalDevelopment = ({ HOST, NODE_ENV }: Config): boolean =>
  NODE_ENV !== 'production' && /^(?:localhost|::1|127(?:\.\d+){3})$/.test(HOST);

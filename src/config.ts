import { z } from 'zod';

const onOff = (fallback: boolean) =>
  z
    .enum(['on', 'off'], 'must be on or off')
    .transform((value) => value === 'on')
    .default(fallback);

const wholeNumber = (least: number, most: number) => {
  const rule = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,10}$/, rule)
    .transform(Number)
    .refine((value) => value >= least && value <= most, rule);
};

const day = z.iso
  .date('must be a date such as 2027-06-30')
  .transform((value) => Date.parse(`${value}T00:00:00Z`));

const ORIGIN_RULE = 'must be * or origins such as https://example.org, parted by commas';
const origin = z.string().refine((value) => {
  try {
    return new URL(value).origin === value;
  } catch {
    return false;
  }
}, ORIGIN_RULE);

/** Every setting of the gateway (contract section 8); README's table is tested against these. */
const VARIABLES = z.object({
  NODE_ENV: z.string().default('development'),
  PORT: wholeNumber(0, 65535).default(4000),
  HOST: z.string().min(1).default('127.0.0.1'),
  MONGODB_URI: z
    .string()
    .regex(
      /^mongodb(\+srv)?:\/\/[^/]+\/[^/?]+/,
      'must be a mongodb:// or mongodb+srv:// address that names a database',
    )
    .optional(),
  DATA_FILE: z.string().min(1).default('data/petstore.db'),
  SAMPLE_DATA: z.enum(['on', 'off'], 'must be on or off').optional(),
  REST_BASE_PATH: z
    .string()
    .regex(/^(\/[A-Za-z0-9._~-]+)*$/, 'must be empty or a path such as /api/v1, without a slash at its end')
    .default(''),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
  GRAPHIQL: onOff(true),
  METRICS: onOff(true),
  CORS_ORIGIN: z
    .string()
    .transform((value) => value.split(',').map((part) => part.trim()))
    .pipe(z.union([z.tuple([z.literal('*')]), z.array(origin).min(1)], ORIGIN_RULE))
    .default(['*']),
  TRUST_PROXY: wholeNumber(0, 10).default(0),
  SUNSET_ENFORCED: onOff(false),
  DEPRECATION_DATE: day.default(Date.parse('2026-07-01T00:00:00Z')),
  SUNSET_DATE: day.default(Date.parse('2027-06-30T00:00:00Z')),
});

export type Config = z.output<typeof VARIABLES>;

/** The names of all settings. */
export const VARIABLE_NAMES = Object.keys(VARIABLES.shape);

/**
 * Reads the configuration. An empty variable counts as unset, but for REST_BASE_PATH, where both mean the same.
 *
 * @throws Error with one message that names every bad variable
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(
    VARIABLE_NAMES.filter((name) => environment[name] !== undefined && environment[name] !== '').map(
      (name) => [name, environment[name]],
    ),
  );
  const parsed = VARIABLES.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = new Map(parsed.error.issues.map((issue) => [String(issue.path[0]), issue.message]));
  const lines = [...faults].map(([name, message]) => `  ${name} ${message}`);
  throw new Error(`The configuration is wrong:\n${lines.join('\n')}`);
}

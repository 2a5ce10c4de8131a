import { describe, expect, it } from 'vitest';
import { readConfig, VARIABLE_NAMES } from '../src/config.ts';

const DEFAULTS = {
  NODE_ENV: 'development',
  PORT: 4000,
  HOST: '127.0.0.1',
  DATA_FILE: 'data/petstore.db',
  DURABILITY: 'process',
  EVENTS_KEEP: 7 * 86_400_000,
  BASE_PATH: '',
  REST_BASE_PATH: '',
  LOG_LEVEL: 'info',
  GRAPHIQL: true,
  INTROSPECTION: true,
  MCP: true,
  REQUEST_LOG: true,
  METRICS: true,
  CORS_ORIGIN: ['*'],
  TRUST_PROXY: 0,
  DRAIN_DELAY: 0,
  SUNSET_ENFORCED: false,
  DEPRECATION_DATE: Date.parse('2026-07-01'),
  SUNSET_DATE: Date.parse('2027-06-30'),
  WEBHOOK_ALLOW: [],
  OTEL_SDK_DISABLED: 'false',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
};

/** The values that texts are parsed to. */
type Valid = Record<string, unknown>;
const ON_OFF: Valid = { on: true, off: false };
const unchanged = (...texts: string[]): Valid => Object.fromEntries(texts.map((text) => [text, text]));
const PREFIXES: [Valid, ...string[]] = [
  unchanged('/api', '/api/v1.0_x~-', '/.well/..x'),
  'api',
  '/',
  '/api/',
  '/a//b',
  '/a b',
  '/{x}',
  '/:x',
  'https://x.example',
  '/..',
  '/../a',
  '/a/.',
];

/**
 * For each variable its valid and invalid texts. Only the operating system knows whether a HOST or a DATA_FILE can be
 * used, and any NODE_ENV but production means development.
 */
const VARIABLES: Record<string, [valid: Valid, ...invalid: string[]]> = {
  NODE_ENV: [unchanged('production', 'test', 'a b')],
  PORT: [{ 0: 0, 65535: 65535 }, '65536', '-1', '80.0', 'http', '1e3', ' 80', '0x50'],
  HOST: [unchanged('0.0.0.0', '::', 'a b')],
  MONGODB_URI: [
    unchanged(
      'mongodb://localhost:27017/petstore',
      'mongodb://a:1,b:2/petstore?replicaSet=rs0',
      'mongodb+srv://u:p@cluster.example/petstore?w=majority',
    ),
    'localhost',
    'http://localhost/petstore',
    'mongodb://localhost',
    'mongodb://localhost/',
    'mongodb://localhost/?replicaSet=rs0',
    'mongodb:///petstore',
  ],
  DATA_FILE: [unchanged('/tmp/x.db', ' a b/')],
  DURABILITY: [unchanged('full'), 'maybe'],
  EVENTS_KEEP: [
    { '30s': 30_000, '12h': 43_200_000, '30d': 2_592_000_000 },
    '0',
    '0d',
    '7',
    'd',
    '-1d',
    '1.5d',
    '7 d',
    '1y',
    'forever',
  ],
  SAMPLE_DATA: [unchanged('on', 'off'), 'yes', 'ON', 'true', '1'],
  BASE_PATH: PREFIXES,
  REST_BASE_PATH: PREFIXES,
  PUBLIC_URL: [
    {
      'https://api.example': 'https://api.example',
      'https://api.example/': 'https://api.example',
      'http://[::1]:8080/shop/': 'http://[::1]:8080/shop',
    },
    'api.example',
    'ftp://api.example',
    'https://',
    'https://u@api.example',
    'https://u:p@api.example',
    'https://api.example/?a=1',
    'https://api.example/#a',
  ],
  LOG_LEVEL: [unchanged('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'INFO', 'verbose'],
  GRAPHIQL: [ON_OFF, 'true', 'On'],
  INTROSPECTION: [ON_OFF, 'yes'],
  MCP: [ON_OFF, '1'],
  REQUEST_LOG: [ON_OFF, '1'],
  METRICS: [ON_OFF, '1'],
  CORS_ORIGIN: [
    {
      '*': ['*'],
      'https://a.example': ['https://a.example'],
      'https://a.example , http://localhost:3000': ['https://a.example', 'http://localhost:3000'],
    },
    'a.example',
    'https://a.example/',
    'https://a.example/x',
    '*,https://a.example',
    'https://a.example,',
    ',',
  ],
  TRUST_PROXY: [{ 0: 0, 2: 2 }, '11', '-1', 'true', 'loopback'],
  DRAIN_DELAY: [{ '0': 0, '5': 5, '300': 300 }, '-1', '301', '5s', '0.5'],
  SUNSET_ENFORCED: [ON_OFF, 'no'],
  DEPRECATION_DATE: [
    { '2026-01-02': Date.parse('2026-01-02') },
    '2026-02-30',
    '2026-1-2',
    'tomorrow',
    '2026-01-02T00:00:00Z',
  ],
  SUNSET_DATE: [
    { '2028-02-29': Date.parse('2028-02-29'), '2026-07-01': Date.parse('2026-07-01') },
    '2027-02-29',
    '30.06.2027',
    '2026-06-30',
  ],
  WEBHOOK_ALLOW: [
    { '127.0.0.1': ['127.0.0.1'], '10.0.0.0/8, fd00::/8': ['10.0.0.0/8', 'fd00::/8'] },
    'localhost',
    '10.0.0.0/33',
    '10.0.0.0/8,',
    '*',
  ],
  OTEL_SDK_DISABLED: [{ true: 'true', TRUE: 'true', False: 'false' }, 'yes'],
  OTEL_TRACES_EXPORTER: [unchanged('none'), 'zipkin'],
  OTEL_EXPORTER_OTLP_ENDPOINT: [
    unchanged('http://collector:4318'),
    'collector:4318',
    'grpc://collector',
    'http://',
  ],
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: [unchanged('https://collector/v1/traces'), 'collector'],
  OTEL_EXPORTER_OTLP_PROTOCOL: [unchanged('http/json'), 'grpc'],
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: [unchanged('http/protobuf'), 'grpc'],
};

function messageOf(environment: NodeJS.ProcessEnv): string {
  try {
    readConfig(environment);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`accepted ${JSON.stringify(environment)}`);
}

describe('readConfig', () => {
  it('returns the defaults for an empty environment and ignores unknown variables', () => {
    expect(readConfig({})).toEqual(DEFAULTS);
    expect(readConfig({ PATH: '/bin', port: '1', GRAPHIQL: '' })).toEqual(DEFAULTS);
  });

  it('treats an empty variable as unset', () => {
    expect(readConfig(Object.fromEntries(VARIABLE_NAMES.map((name) => [name, ''])))).toEqual(DEFAULTS);
  });

  it('has test values for every variable, and invalid ones for all but NODE_ENV, HOST and DATA_FILE', () => {
    expect(Object.keys(VARIABLES).sort()).toEqual([...VARIABLE_NAMES].sort());
    const names = Object.keys(VARIABLES).filter((name) => VARIABLES[name]!.length === 1);
    expect(names).toEqual(['NODE_ENV', 'HOST', 'DATA_FILE']);
  });

  it.each(Object.entries(VARIABLES))('reads %s', (name, [valid, ...invalid]) => {
    for (const [text, value] of Object.entries(valid))
      expect(readConfig({ [name]: text }), `${name}=${text}`).toEqual({ ...DEFAULTS, [name]: value });
    for (const text of invalid)
      expect(messageOf({ [name]: text }), `${name}=${text}`).toMatch(
        new RegExp(`^Invalid configuration:\\n  ${name} must .+$`),
      );
  });

  it('names every invalid variable in one message', () => {
    const environment = Object.fromEntries(
      Object.entries(VARIABLES).flatMap(([name, [, invalid]]) =>
        invalid === undefined ? [] : [[name, invalid]],
      ),
    );
    const lines = messageOf({ ...environment, HOST: '127.0.0.1' })
      .split('\n')
      .slice(1);
    expect(lines.map((line) => line.trim().split(' ')[0]).sort()).toEqual(Object.keys(environment).sort());
  });

  it('refuses DATA_FILE beside MONGODB_URI', () => {
    const both = { DATA_FILE: 'x.db', MONGODB_URI: 'mongodb://db/petstore', PORT: 'x' };
    expect(() => readConfig(both)).toThrow(
      /\n {2}PORT must .*\n {2}DATA_FILE must not be set beside MONGODB_URI/,
    );
  });

  it('refuses a sunset before the deprecation, with the other faults', () => {
    const dates = { DEPRECATION_DATE: '2027-07-01', SUNSET_DATE: '2027-06-30', PORT: 'x' };
    expect(() => readConfig(dates)).toThrow(
      /\n {2}PORT must .*\n {2}SUNSET_DATE must not be before DEPRECATION_DATE$/,
    );
  });

  it('leaves values, which may be secret, out of the message', () => {
    expect(messageOf({ MONGODB_URI: 'mongodb://user:secret@host' })).not.toContain('secret');
  });
});

import { describe, expect, it } from 'vitest';
import { readConfig, VARIABLE_NAMES } from '../src/config.ts';

const DEFAULTS = {
  NODE_ENV: 'development',
  PORT: 4000,
  HOST: '127.0.0.1',
  DATA_FILE: 'data/petstore.db',
  EVENTS_KEEP: 7 * 86_400_000,
  REST_BASE_PATH: '',
  LOG_LEVEL: 'info',
  GRAPHIQL: true,
  INTROSPECTION: true,
  METRICS: true,
  CORS_ORIGIN: ['*'],
  TRUST_PROXY: 0,
  SUNSET_ENFORCED: false,
  DEPRECATION_DATE: Date.parse('2026-07-01'),
  SUNSET_DATE: Date.parse('2027-06-30'),
  WORKERS: 1,
  OTEL_SDK_DISABLED: 'false',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
};

/** A value for every variable, what it is read as, and values that are refused. */
const VARIABLES: Record<string, { good: [text: string, value: unknown][]; bad: string[] }> = {
  NODE_ENV: { good: [['production', 'production']], bad: [] },
  PORT: {
    good: [
      ['0', 0],
      ['65535', 65535],
    ],
    bad: ['65536', '-1', '80.0', 'http', '1e3', ' 80', '0x50'],
  },
  HOST: {
    good: [
      ['0.0.0.0', '0.0.0.0'],
      ['::', '::'],
    ],
    bad: [],
  },
  MONGODB_URI: {
    good: [
      'mongodb://localhost:27017/petstore',
      'mongodb://a:1,b:2/petstore?replicaSet=rs0',
      'mongodb+srv://u:p@cluster.example/petstore?w=majority',
    ].map((uri): [string, string] => [uri, uri]),
    bad: [
      'localhost',
      'http://localhost/petstore',
      'mongodb://localhost',
      'mongodb://localhost/',
      'mongodb://localhost/?replicaSet=rs0',
      'mongodb:///petstore',
    ],
  },
  DATA_FILE: { good: [['/tmp/x.db', '/tmp/x.db']], bad: [] },
  EVENTS_KEEP: {
    good: [
      ['30s', 30_000],
      ['12h', 43_200_000],
      ['30d', 2_592_000_000],
    ],
    bad: ['0', '0d', '7', 'd', '-1d', '1.5d', '7 d', '1w', 'forever'],
  },
  SAMPLE_DATA: {
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['yes', 'ON', 'true', '1'],
  },
  REST_BASE_PATH: {
    good: [
      ['/api', '/api'],
      ['/api/v1.0_x~-', '/api/v1.0_x~-'],
    ],
    bad: ['api', '/', '/api/', '/a//b', '/a b', '/{x}', '/:x', 'https://x.example'],
  },
  LOG_LEVEL: {
    good: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map((level): [string, string] => [
      level,
      level,
    ]),
    bad: ['INFO', 'verbose'],
  },
  GRAPHIQL: {
    good: [
      ['on', true],
      ['off', false],
    ],
    bad: ['true', 'On'],
  },
  INTROSPECTION: {
    good: [
      ['on', true],
      ['off', false],
    ],
    bad: ['yes'],
  },
  METRICS: {
    good: [
      ['on', true],
      ['off', false],
    ],
    bad: ['1'],
  },
  CORS_ORIGIN: {
    good: [
      ['*', ['*']],
      ['https://a.example', ['https://a.example']],
      ['https://a.example , http://localhost:3000', ['https://a.example', 'http://localhost:3000']],
    ],
    bad: [
      'a.example',
      'https://a.example/',
      'https://a.example/x',
      '*,https://a.example',
      'https://a.example,',
      ',',
    ],
  },
  TRUST_PROXY: {
    good: [
      ['0', 0],
      ['2', 2],
    ],
    bad: ['11', '-1', 'true', 'loopback'],
  },
  SUNSET_ENFORCED: {
    good: [
      ['on', true],
      ['off', false],
    ],
    bad: ['no'],
  },
  DEPRECATION_DATE: {
    good: [['2026-01-02', Date.parse('2026-01-02')]],
    bad: ['2026-02-30', '2026-1-2', 'tomorrow', '2026-01-02T00:00:00Z'],
  },
  SUNSET_DATE: { good: [['2028-02-29', Date.parse('2028-02-29')]], bad: ['2027-02-29', '30.06.2027'] },
  WORKERS: { good: [['1', 1]], bad: ['0', '2', '129', 'auto'] },
  OTEL_SDK_DISABLED: { good: [['true', 'true']], bad: ['yes'] },
  OTEL_TRACES_EXPORTER: { good: [['none', 'none']], bad: ['zipkin'] },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    good: [['http://collector:4318', 'http://collector:4318']],
    bad: ['collector:4318', 'grpc://collector', 'http://'],
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    good: [['https://collector/v1/traces', 'https://collector/v1/traces']],
    bad: ['collector'],
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: { good: [['http/json', 'http/json']], bad: ['grpc'] },
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: { good: [['http/protobuf', 'http/protobuf']], bad: ['grpc'] },
};

function messageOf(environment: NodeJS.ProcessEnv): string {
  try {
    readConfig(environment);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`accepted ${JSON.stringify(environment)}`);
}

describe('The configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({})).toEqual(DEFAULTS);
    expect(readConfig({ PATH: '/bin', port: '1', GRAPHIQL: '' })).toEqual(DEFAULTS);
  });

  it('takes an empty variable for none', () => {
    expect(readConfig(Object.fromEntries(VARIABLE_NAMES.map((name) => [name, ''])))).toEqual(DEFAULTS);
  });

  it('is tested here as a whole', () => {
    expect(Object.keys(VARIABLES).sort()).toEqual([...VARIABLE_NAMES].sort());
  });

  it.each(Object.entries(VARIABLES))('reads %s', (name, { good, bad }) => {
    for (const [text, value] of good) {
      expect(readConfig({ [name]: text }), `${name}=${text}`).toEqual({ ...DEFAULTS, [name]: value });
    }
    for (const text of bad) {
      expect(messageOf({ [name]: text }), `${name}=${text}`).toMatch(
        new RegExp(`^Invalid configuration:\\n  ${name} must .+$`),
      );
    }
  });

  it('names every variable that is wrong in one message', () => {
    const environment = Object.fromEntries(
      Object.entries(VARIABLES).flatMap(([name, { bad }]) => (bad[0] === undefined ? [] : [[name, bad[0]]])),
    );
    const lines = messageOf({ ...environment, HOST: '127.0.0.1' })
      .split('\n')
      .slice(1);
    expect(lines.map((line) => line.trim().split(' ')[0]).sort()).toEqual(Object.keys(environment).sort());
  });

  it('takes several workers with MongoDB only', () => {
    const MONGODB_URI = 'mongodb://localhost/petstore';
    expect(readConfig({ WORKERS: '4', MONGODB_URI })).toEqual({ ...DEFAULTS, WORKERS: 4, MONGODB_URI });
    expect(messageOf({ WORKERS: '4', PORT: 'x' })).toMatch(/WORKERS must be 1 unless MONGODB_URI/);
    expect(messageOf({ WORKERS: '4', PORT: 'x' })).toMatch(/PORT must be/);
  });

  it('never tells the values, which may be secret', () => {
    expect(messageOf({ MONGODB_URI: 'mongodb://user:secret@host' })).not.toContain('secret');
  });
});

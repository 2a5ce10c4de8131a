import { randomUUID } from 'node:crypto';
import { afterAll, describe } from 'vitest';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { testKeysBesideServer } from './keys-beside-server.ts';

describe.runIf(process.env.TEST_MONGODB_URI)('on MongoDB', () => {
  const database = `keys-${randomUUID().slice(0, 8)}`;
  testKeysBesideServer('MongoDB', { MONGODB_URI: process.env.TEST_MONGODB_URI ? mongoUri(database) : '' });
  afterAll(() => dropDatabase(database));
});

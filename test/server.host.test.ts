import { describe, expect, it } from 'vitest';
import { sqlite, useGateway } from './kit/petstore.ts';
import { exchangeRaw } from './kit/raw.ts';

describe('the Host header', () => {
  const kit = useGateway(sqlite);
  const statusFor = async (...hosts: string[]) => {
    const lines = ['GET /health/live HTTP/1.1', ...hosts.map((host) => `Host:${host}`), 'Connection: close'];
    const response = await exchangeRaw(kit.gateway.url, `${lines.join('\r\n')}\r\n\r\n`);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]);
  };

  it.each([
    ' localhost',
    ' localhost:4000',
    ' 127.0.0.1:4000',
    ' [::1]:4000',
    ' [2001:db8::1]',
    ' pets.example',
    ' pets.example:',
    ' xn--bcher-kva.example',
    ' a_b.internal',
    ' %41.example',
    '',
  ])('is accepted as "%s"', async (host) => {
    expect(await statusFor(host)).toBe(200);
  });

  it.each([
    ' local host',
    ' localhost:port',
    ' localhost:40:00',
    ' http://localhost',
    ' localhost/pets',
    ' user@localhost',
    ' [::1',
    ' ::1',
    ' [pets]',
    ' pets.example, pets.example',
    ' "pets"',
    ' %4',
  ])('is rejected with 400 as "%s"', async (host) => {
    expect(await statusFor(host)).toBe(400);
  });

  it('is rejected with 400 if it is missing or sent twice, even with the same value', async () => {
    expect(await statusFor(' localhost', ' pets.example')).toBe(400);
    expect(await statusFor(' localhost', ' localhost')).toBe(400);
    expect(await statusFor()).toBe(400);
  });
});

import { describe, expect, it } from 'vitest';
import { sqlite, useGateway } from '../kit/petstore.ts';
import { exchangeRaw } from '../kit/raw.ts';

describe('the Host header', () => {
  const kit = useGateway(sqlite);
  const statusFor = async (...hosts: string[]) => {
    const lines = ['GET /health/live HTTP/1.1', ...hosts.map((host) => `Host:${host}`), 'Connection: close'];
    const answer = await exchangeRaw(kit.gateway.url, `${lines.join('\r\n')}\r\n\r\n`);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
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
  ])('may be "%s"', async (host) => {
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
  ])('is refused as "%s"', async (host) => {
    expect(await statusFor(host)).toBe(400);
  });

  it('is refused where it is there twice, even twice the same, or not at all', async () => {
    expect(await statusFor(' localhost', ' pets.example')).toBe(400);
    expect(await statusFor(' localhost', ' localhost')).toBe(400);
    expect(await statusFor()).toBe(400);
  });
});

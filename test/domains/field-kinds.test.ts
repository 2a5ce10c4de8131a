import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { load } from '../../src/cli/load.ts';
import { declareRecord } from '../../src/foundation/declare-record.ts';
import { bigInteger, code, integer } from '../../src/foundation/fields.ts';
import { apiWith } from '../kit/declared.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { rpc } from '../kit/mcp.ts';
import { dataOf, expectQueryRefusal, expectRefusal, onEachEngine, query, send } from '../kit/petstore.ts';

const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n];
/** No double holds it. */
const ODD = 2n ** 53n + 1n;

const Payment = declareRecord({
  kind: 'payment',
  plural: 'payments',
  type: 'Payment',
  description: 'A payment.',
  fields: {
    amount: bigInteger(LEAST, 10n ** 18n, 'What is paid, in cents', 1_999),
    account: code(6, 'Who pays', 'A-1'),
  },
  filters: ['account'],
  sorts: ['amount'],
  computed: (computed) => ({
    digits: computed(integer(1, 20, 'How many digits it has', 16), ({ amount }) => amount.length),
  }),
});

const home = temporaryFolder();

onEachEngine(
  'fields of records',
  (kit) => {
    const create = (amount: bigint | string) =>
      send(kit.gateway, 'POST /payments', {
        headers: { 'content-type': 'application/json' },
        body: `{"amount":${amount},"account":"a-1"}`,
      });
    const all = 'query ($filter: PaymentFilter) { payments(filter: $filter) { nodes { amount digits } } }';

    it('hold integers up to int64 exactly, over every interface and from a file', async () => {
      for (const amount of [LEAST, ODD, -ODD])
        expect((await create(amount)).text).toContain(`"amount":${amount},`);
      const created = `mutation ($amount: BigInt!) { createPayment(input: { amount: $amount, account: "x" }) { amount } }`;
      for (const amount of ['7', 7])
        expect(dataOf(await query(kit.gateway, created, { amount })).createPayment).toEqual({ amount: '7' });
      const { json } = await rpc(kit.gateway, 'tools/call', {
        name: 'createPayment',
        arguments: { amount: '-5', account: 'x' },
      });
      expect(json.result.structuredContent).toMatchObject({ amount: '-5', digits: 2 });
      const file = join(home, 'payments.csv');
      writeFileSync(file, `amount,account\n${ODD + 2n},x\n-9.0,x\n`);
      await load(kit.gateway.store, { record: Payment, file, onProgress: () => {} });
      const amounts = (texts: readonly (bigint | number)[]) =>
        texts.map((amount) => ({ amount: String(amount), digits: String(amount).length }));
      const ordered = [-ODD, -9, -5, 7, 7, ODD, ODD + 2n];
      const range = { amount: { min: String(-ODD), max: 10n ** 18n } };
      expect(dataOf(await query(kit.gateway, all, { filter: range })).payments.nodes).toEqual(
        amounts(ordered),
      );
      const page = await send(kit.gateway, `/payments?amountMin=${ODD}&sort=-amount&limit=1`);
      expect(page.text).toContain(`"amount":${ODD + 2n},`);
      const after = /after=([\w-]+)/.exec(String(page.headers.link))![1];
      const next = await send(kit.gateway, `/payments?amountMin=${ODD}&sort=-amount&after=${after}`);
      expect(next.text).toContain(`"amount":${ODD},`);
      const events = await send(kit.gateway, '/events?type=payment.created');
      expect(events.text).toContain(`"amount":${LEAST},`);
    });

    it('are described as int64, and refused beyond their bounds by one rule', async () => {
      const { json } = await send(kit.gateway, '/openapi.json');
      const { amount } = json.components.schemas.Payment.properties;
      expect(amount).toMatchObject({ type: 'integer', format: 'int64', maximum: 1e18 });
      const rule = `must be an integer from ${LEAST} to ${10n ** 18n}`;
      for (const wrong of [MOST, '1.5', '"7"', '123456789012345678901234567890'])
        expectRefusal(await create(wrong), 'VALIDATION_FAILED', `amount: ${rule}.`);
      expectRefusal(
        await send(kit.gateway, '/payments?amountMax=x'),
        'VALIDATION_FAILED',
        `amountMax: ${rule}.`,
      );
      const beyond = { amount: { max: `${MOST}0` } };
      expectQueryRefusal(
        await query(kit.gateway, all, { filter: beyond }),
        'VALIDATION_FAILED',
        `amount.max: must be an integer from ${LEAST} to ${MOST}.`,
      );
    });
  },
  apiWith([Payment]),
);

import { expect, it } from 'vitest';
import { formatBudget, formatReset } from '../../src/kit/budget.ts';

it('rounds reset times up to whole seconds', () => {
  const noon = Date.parse('2026-11-21T12:00:00Z');
  expect(formatReset(noon)).toBe('2026-11-21T12:00:00Z');
  for (const ms of [1, 500, 1_000]) expect(formatReset(noon + ms)).toBe('2026-11-21T12:00:01Z');
  expect(formatReset(noon + 1_001)).toBe('2026-11-21T12:00:02Z');
});

it('formats a budget as its cost, plan and both windows', () => {
  const minute = { limit: 60, remaining: 59, resetAt: 1_000 };
  const day = { limit: 1_000, remaining: 7, resetAt: 86_400_001 };
  expect(formatBudget({ cost: 3, plan: 'free', minute, day })).toEqual({
    cost: 3,
    plan: 'free',
    minute: { limit: 60, remaining: 59, resetAt: '1970-01-01T00:00:01Z' },
    day: { limit: 1_000, remaining: 7, resetAt: '1970-01-02T00:00:01Z' },
  });
});

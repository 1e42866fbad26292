import t from 'tap'
import type { Facts } from '#lib/automations/evaluate/facts.ts'
import { matches } from '#lib/automations/evaluate/matches.ts'
import type { Rule } from '#lib/automations/rules.ts'

const facts: Facts = {
  contact: {
    ...{ id: 'c', email: 'ann@b.com', first_name: 'Ann', last_name: null, unsubscribed: false, timezone: null },
    ...{ created_at: new Date('2026-01-05T00:00:00Z'), own: { plan: 'Pro' }, properties: { plan: 'Pro', seats: 3 } },
  },
  payload: {
    total: 10,
    tags: ['VIP', 7],
    nested: { a: { b: 'deep' } },
    both: 'first',
    cleared: 'X',
    cart: { old: 1 },
    empty: '',
    none: [],
    due: '2026-03-01',
    at: '2026-03-01T12:00',
    paid_at: '2026-03-01T12:00:00+02:00',
  },
  event: { both: 'second', paid: true, cleared: null, cart: { new: 2 } },
}
const rule = (field: string, operator: string, value?: unknown) => ({ type: 'rule', field, operator, value }) as Rule

const TRUE: [field: string, operator: string, value?: unknown][] = [
  ['contact.first_name', 'eq', 'Ann'],
  ['contact.first_name', 'neq', 'ann'],
  ['contact.last_name', 'eq', null],
  ['contact.created_at', 'eq', '2026-01-05T00:00:00.000Z'],
  ['contact.unsubscribed', 'eq', false],
  ['contact.properties.plan', 'contains', 'PR'],
  ['contact.properties.seats', 'gte', 3],
  ['contact.properties.seats', 'is_empty'],
  ['event.total', 'gt', 9],
  ['event.total', 'lt', 11],
  ['event.total', 'lte', 10],
  ['event.total', 'starts_with', '1'],
  ['contact.created_at', 'gt', '2026-01-04'],
  ['contact.created_at', 'gte', '2026-01-05'],
  ['contact.created_at', 'lt', '2026-01-05T00:00:00.001Z'],
  ['event.due', 'lte', '2026-03-01T00:00:00Z'],
  ['event.due', 'lt', '2026-03-01T01:00:00-02:00'],
  ['event.at', 'gte', '2026-03-01T12:00:00Z'],
  ['event.at', 'lte', '2026-03-01T12:00:00Z'],
  ['event.paid_at', 'lt', '2026-03-01T10:00:01Z'],
  ['event.tags', 'contains', 'vip'],
  ['event.nested.a.b', 'ends_with', 'EEP'],
  ['event.both', 'eq', 'second'],
  ['event.paid', 'exists'],
  ['event.missing', 'eq', null],
  ['event.missing', 'neq', 'x'],
  ['event.missing', 'is_empty'],
  ['event.empty', 'is_empty'],
  ['event.none', 'is_empty'],
]
const FALSE: typeof TRUE = [
  ['contact.properties.seats', 'exists'],
  ['contact.properties.plan', 'gt', 1],
  ['contact.properties.plan', 'gt', '2026-01-01'],
  ['contact.properties.plan', 'lte', '2026-01-01'],
  ['contact.created_at', 'gt', 1],
  ['contact.created_at', 'gt', '2026-01-05'],
  ['event.total', 'gt', '1970-01-01'],
  ['event.missing', 'lt', '2026-01-01'],
  ['event.at', 'gt', '2026-03-01T12:00:00Z'],
  ['event.total', 'eq', '10'],
  ['event.missing', 'contains', 'x'],
  ['event.constructor', 'exists'],
  ['event.cleared', 'exists'],
  ['event.cart.old', 'exists'],
  ['event.nested', 'contains', 'deep'],
  ['event.paid', 'is_empty'],
]

for (const [field, operator, value] of TRUE) {
  t.test(`${field} ${operator} ${JSON.stringify(value)} holds`, async t =>
    t.ok(matches(rule(field, operator, value), facts)),
  )
}
for (const [field, operator, value] of FALSE) {
  t.test(`${field} ${operator} ${JSON.stringify(value)} does not hold`, async t =>
    t.notOk(matches(rule(field, operator, value), facts)),
  )
}

t.test('an and-group needs all of its rules, an or-group one', async t => {
  const [yes, no] = [rule('event.total', 'eq', 10), rule('event.total', 'eq', 11)]
  t.ok(matches({ type: 'and', rules: [yes, { type: 'or', rules: [no, yes] }] }, facts))
  t.notOk(matches({ type: 'and', rules: [yes, no] }, facts))
  t.notOk(matches({ type: 'or', rules: [no, no] }, facts))
})

import t from 'tap'
import { NewStep } from '#lib/automations/new_step.ts'
import { fieldsOf, propertyOf, readField } from '#lib/automations/rules.ts'
import { parse } from '#lib/json/parse.ts'

const SEGMENT = '0199f0a0-0000-7000-8000-000000000001'

const configOf = (type: string, config: unknown) => parse(NewStep, { key: 'a', type, config }).config
const messageOf = (type: string, config: unknown, key: unknown = 'a') => {
  try {
    return parse(NewStep, { key, type, config })
  } catch (error) {
    return (error as Error).message
  }
}

t.test('step configurations get their defaults', async t => {
  const nothing = {
    template: null,
    from: null,
    subject: null,
    reply_to: [],
    topic_id: null,
    html: null,
    text: null,
    poll: null,
  }
  const cases: [string, unknown, unknown][] = [
    ['trigger', { eventName: 'user.signed_up' }, { event_name: 'user.signed_up' }],
    ['send_email', { template: { id: 'welcome' } }, { ...nothing, template: { id: 'welcome', variables: {} } }],
    [
      'send_email',
      {
        template: {
          id: SEGMENT.toUpperCase(),
          variables: { plan: { var: 'event.plan' }, n: 5, on: true, p: { var: 'properties.p' } },
        },
        replyTo: 'Ann <ann@acme.com>',
        topicId: SEGMENT,
        from: '',
      },
      {
        ...nothing,
        template: {
          id: SEGMENT,
          variables: { plan: { var: 'event.plan' }, n: 5, on: 'true', p: { var: 'contact.properties.p' } },
        },
        reply_to: ['Ann <ann@acme.com>'],
        topic_id: SEGMENT,
      },
    ],
    ['send_email', { html: '<p>Hi', text: '' }, { ...nothing, html: '<p>Hi', text: '' }],
    ['delay', { duration: '30 minutes' }, { duration: '30 minutes' }],
    ['delay', { until: { time: '09:00' } }, { until: { time: '09:00', timezone: 'UTC' } }],
    ['delay', { until: { time: '09:00', timezone: 'contact' } }, { until: { time: '09:00', timezone: 'contact' } }],
    ['wait_for_event', { event_name: 'paid' }, { event_name: 'paid', timeout: null, filter_rule: null }],
    [
      'wait_for_event',
      {
        eventName: 'paid',
        timeout: '1 day',
        filterRule: { type: 'rule', field: 'event.plan', operator: 'eq', value: null },
      },
      {
        event_name: 'paid',
        timeout: '1 day',
        filter_rule: { type: 'rule', field: 'event.plan', operator: 'eq', value: null },
      },
    ],
    [
      'condition',
      { type: 'or', rules: [{ type: 'rule', field: 'properties.plan', operator: 'exists', value: null }] },
      { type: 'or', rules: [{ type: 'rule', field: 'contact.properties.plan', operator: 'exists' }] },
    ],
    ['contact_update', { firstName: null, properties: { a: 'b' } }, { first_name: null, properties: { a: 'b' } }],
    ['contact_update', { unsubscribed: { var: 'event.out' } }, { unsubscribed: { var: 'event.out' } }],
    ['contact_delete', undefined, {}],
    ['add_to_segment', { segmentId: SEGMENT }, { segment_id: SEGMENT }],
    ['remove_from_segment', { segment_id: SEGMENT }, { segment_id: SEGMENT }],
  ]
  for (const [type, given, config] of cases) t.strictSame(configOf(type, given), config, type)
})

t.test('step types have aliases', async t => {
  const aliases = [
    ['wait', { duration: '1 hour' }, 'delay'],
    ['branch', { type: 'rule', field: 'contact.email', operator: 'exists' }, 'condition'],
    ['update_contact', { first_name: 'Ann' }, 'contact_update'],
  ] as const
  for (const [alias, config, type] of aliases) t.equal(parse(NewStep, { key: 'a', type: alias, config }).type, type)
})

t.test('errors name the step and the field', async t => {
  const COMPARED = 'Step `a`: `config.value` must be a number, an ISO 8601 date or a timestamp with an offset.'
  const rule = { type: 'rule', field: 'contact.email', operator: 'exists' }
  const deep = (depth: number): unknown => (depth === 0 ? rule : { type: 'and', rules: [deep(depth - 1)] })
  const cases: [string, unknown, string][] = [
    ['trigger', {}, 'Step `a`: Missing `config.event_name` field.'],
    [
      'trigger',
      { event_name: 'service:x' },
      'Step `a`: `config.event_name` must not begin with `service:`, which is reserved.',
    ],
    ['delay', { duration: '0 days' }, 'Step `a`: `config.duration` must be longer than 0 seconds.'],
    ['delay', { duration: '365 days 1 second' }, 'Step `a`: `config.duration` must be at most one year.'],
    [
      'delay',
      { duration: 'soon' },
      'Step `a`: `config.duration` must be a length of time such as `30 minutes` or `1 day 12 hours`.',
    ],
    ['delay', {}, 'Step `a`: Missing `config.duration` or `config.until` field.'],
    [
      'delay',
      { duration: '1 day', until: { time: '09:00' } },
      'Step `a`: `config` must have either `duration` or `until`.',
    ],
    [
      'delay',
      { until: { time: '09:00', timezone: 'Mars' } },
      'Step `a`: `config.until.timezone` must be `contact` or an IANA time zone such as `Europe/Berlin`.',
    ],
    ['send_email', { template: { id: 'x' }, html: 'x' }, 'Step `a`: `config.html` cannot be combined with `template`.'],
    ['send_email', { from: 'x' }, 'Step `a`: `config.from` must be `email@domain` or `Name <email@domain>`, not "x".'],
    [
      'send_email',
      { template: { id: 'x', variables: { a: [1] } } },
      'Step `a`: `config.template.variables.a` must be a string of at most 2,000 characters, a number, or an object such as `{"var": "event.plan"}`.',
    ],
    [
      'condition',
      deep(5),
      'Step `a`: `config.rules[0].rules[0].rules[0].rules[0].rules[0]` must not be nested deeper than 5 levels.',
    ],
    [
      'condition',
      { ...rule, field: 'contact.age' },
      'Step `a`: `config.field` must be `contact.<field>`, `contact.properties.<key>` or `event.<key>`.',
    ],
    ['condition', { ...rule, value: 5 }, 'Step `a`: `config.value` must be left out: `exists` takes none.'],
    ['condition', { ...rule, operator: 'gt', value: '5' }, COMPARED],
    ['condition', { ...rule, operator: 'lt', value: '2026-03-01T12:00' }, COMPARED],
    [
      'wait_for_event',
      { event_name: 'x', filter_rule: rule },
      'Step `a`: `config.filter_rule.field` must be `event.<key>`: only the event is looked at.',
    ],
    [
      'contact_update',
      {},
      'Step `a`: Missing `config.first_name`, `config.last_name`, `config.unsubscribed` or `config.properties` field.',
    ],
    [
      'webhook',
      {},
      'Step `a`: `type` must be `trigger`, `send_email`, `delay`, `wait_for_event`, `condition`, `contact_update`, `contact_delete`, `add_to_segment` or `remove_from_segment`.',
    ],
  ]
  for (const [type, config, message] of cases) t.equal(messageOf(type, config), message)
  t.equal(messageOf('delay', { duration: '1 day' }, 'a b'), '`key` must be 1 to 100 letters, digits, `_`, `-` or `.`.')
  t.equal(messageOf('delay', { duration: '1 day' }, SEGMENT), '`key` must not look like an id.')
  const many = { type: 'and', rules: Array.from({ length: 2 }, () => ({ type: 'or', rules: Array(26).fill(rule) })) }
  t.equal(
    messageOf('condition', many),
    'Step `a`: `config.rules[1].rules[24]` is one too many: a rule has at most 50 conditions.',
  )
})

t.test('fieldsOf lists the fields of rules', async t => {
  const rule = (field: string) => ({ type: 'rule', field: readField(field), operator: 'exists' })
  const given = { type: 'and', rules: [rule('event.a.b'), { type: 'or', rules: [rule('properties.plan')] }] }
  const fields = fieldsOf(given as Parameters<typeof fieldsOf>[0])
  t.strictSame(fields, ['event.a.b', 'contact.properties.plan'])
  t.strictSame(fields.map(propertyOf), [null, 'plan'])
  for (const none of ['event', 'event.', 'event.a.b.c.d', 'contact.__proto__', 'email']) t.equal(readField(none), null)
})

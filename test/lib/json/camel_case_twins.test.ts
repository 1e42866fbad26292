import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { NewCampaign } from '#lib/campaigns/new_campaign.ts'
import { DomainChange, NewDomain } from '#lib/domains/new_domain.ts'
import { NewDomainClaim } from '#lib/domains/new_domain_claim.ts'
import { NamecheapCredentials } from '#lib/domains/providers/namecheap.ts'
import { ApiError } from '#lib/errors.ts'
import { twinOf, withTwins } from '#lib/json/camel_case_twins.ts'
import { parse } from '#lib/json/parse.ts'
import { NewApiKey } from '#lib/members/new_api_key.ts'
import { NewForward, NewReply } from '#lib/receiving/new_reply.ts'
import { NewSegment } from '#lib/segments/new_segment.ts'
import { NewEmail, Reschedule } from '#lib/sending/new_email.ts'
import { NewSuppression } from '#lib/suppressions/new_suppression.ts'
import { NewTemplate, TemplateChange } from '#lib/templates/new_template.ts'

const email = { from: 'a@b.com', to: 'c@d.com', subject: 'Hi' }
const id = '01a1fe06-bc30-74e2-b59b-779a16313e3d'
const scheduled = { scheduled_at: '2030-01-01T00:00:00Z' }
const file = { filename: 'a.png', path: 'https://a.com/a', content_type: 'image/png', content_id: 'a' }
const variable = { key: 'name', type: 'string', fallback_value: 'you' }
const tracking = { open_tracking: true, click_tracking: true, tracking_subdomain: 'go' }

const variants = [{ subject: 'a', preview_text: 'b' }, { html: 'c' }]
const ab_test = { test_percentage: 50, winner_metric: 'click_rate', wait_hours: 1, variants }
const rules = { or: [{ field: 'engagement', operator: 'opened', value: { within_days: 5 } }] }

/** Bodies with every member that has a camelCase twin, where a schema accepts it. */
const bodies: [string, z.ZodType, Record<string, unknown>][] = [
  ['an email', NewEmail, { ...email, ...scheduled, reply_to: ['r@b.com'], topic_id: id, template_id: id }],
  ['an email with a file', NewEmail, { ...email, attachments: [{ ...file, content_disposition: 'inline' }] }],
  ['another time', Reschedule, scheduled],
  ['a reply', NewReply, { from: 'a@b.com', text: 'x', reply_to: 'r@b.com', reply_all: true, ...scheduled }],
  ['a forward', NewForward, { to: 'a@b.com', reply_to: 'r@b.com', ...scheduled }],
  ['a template', NewTemplate, { name: 'n', html: '', reply_to: 'r@b.com', variables: [variable] }],
  ['another template', TemplateChange, { reply_to: 'r@b.com', variables: [variable] }],
  ['a domain', NewDomain, { name: 'b.co', custom_return_path: 'back', ...tracking }],
  ['another domain', DomainChange, { brand: { logo_url: 'https://b.co/l' }, custom_return_path: 'back', ...tracking }],
  ['a claim', NewDomainClaim, { name: 'b.co', custom_return_path: 'back', ...tracking }],
  ['a suppression', NewSuppression, { email: 'a@b.com', expires_at: '2030-01-01T00:00:00Z' }],
  ['a segment with rules', NewSegment, { name: 'n', filter: { email_contains: 'a' }, rules }],
  ['an API key', NewApiKey, { name: 'n', default_domain_id: id, expires_at: '2030-01-01' }],
  ['credentials', NamecheapCredentials, { api_key: 'k'.repeat(8), api_user: 'u', user_name: 'v' }],
]

function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [twinOf(name), inCamelCase(member)]))
}

/** `name message` of the error, or null. */
function refusal(schema: z.ZodType, body: unknown): string | null {
  try {
    parse(schema, body)
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return `${error.name} ${error.message}`
  }
}

for (const [name, schema, body] of bodies) {
  t.test(`${name} accepts camelCase names`, async t => {
    const twins = inCamelCase(body)
    t.notSame(twins, body)
    t.same(parse(schema, twins), parse(schema, body))
    t.same(parse(schema, { ...body, ...(twins as object) }), parse(schema, body), 'by both names')
  })
}

t.test('two spellings of a member with different values are refused', async t => {
  for (const [member, values] of Object.entries({
    scheduled_at: ['in 1 hour', 'in 2 hours'],
    reply_to: ['a@b.com', ['a@b.com']],
    topic_id: [id, null],
  })) {
    for (const [value, other] of [values, values.toReversed()]) {
      const body = { ...email, [member]: value, [twinOf(member)]: other }
      const message = `\`${twinOf(member)}\` must be the same as \`${member}\`.`
      t.equal(refusal(NewEmail, body), `validation_error ${message}`)
    }
  }
  const attachments = [file, { ...file, contentId: 'b' }]
  const message = '`attachments[1].contentId` must be the same as `content_id`.'
  t.equal(refusal(NewEmail, { ...email, attachments }), `validation_error ${message}`)
})

t.test('errors name the member as it was given', async t => {
  const form = 'must be `email@domain` or `Name <email@domain>`, not "x".'
  for (const [fields, expected] of [
    [{ scheduledAt: 5 }, /^validation_error `scheduledAt` must be a string\.$/],
    [{ scheduledAt: 'soon' }, /^validation_error `scheduledAt` must be an ISO 8601/],
    [{ replyTo: 'x' }, `validation_error \`replyTo\` ${form}`],
    [{ replyTo: ['a@b.com', 'x'] }, `validation_error \`replyTo[1]\` ${form}`],
    [{ reply_to: ['x'] }, `validation_error \`reply_to[0]\` ${form}`],
    [{ to: 'x' }, `invalid_to_address \`to\` ${form}`],
    [{ to: ['a@b.com', 'x'] }, `invalid_to_address \`to[1]\` ${form}`],
    [
      { attachments: [file, { filename: 'a' }] },
      'invalid_attachment `attachments[1]` must have either `content` or `path`.',
    ],
    [
      { attachments: [{ ...file, content_id: undefined, contentId: ',' }] },
      /^validation_error `attachments\[0\]\.contentId` must have only /,
    ],
  ] as const) {
    t.match(refusal(NewEmail, { ...email, ...fields }), expected)
  }
})

t.test('an A/B test accepts camelCase names, and refuses a wrong value by both names', async t => {
  t.same(parse(NewCampaign, inCamelCase({ ...email, ab_test })), parse(NewCampaign, { ...email, ab_test }))
  for (const [name, member] of [
    ['ab_test', 'wait_hours'],
    ['abTest', 'waitHours'],
  ] as const) {
    const body = { ...email, [name]: { [member]: 'x', variants } }
    t.equal(refusal(NewCampaign, body), `validation_error \`${name}.${member}\` must be a number.`)
  }
})

t.test('camelCase keys of variables, headers and tags stay as they are', async t => {
  const names = fc.stringMatching(/^[a-z]{1,8}[A-Z][a-z]{1,8}$/)
  const map = fc.dictionary(names, fc.string(), { maxKeys: 5 })
  fc.assert(
    fc.property(map, map, (variables, headers) => {
      const tags = [{ name: 'replyTo', value: 'scheduledAt' }]
      const body = { ...email, variables, tags, template: { id, variables } }
      const { html: _, ...parsed } = parse(NewEmail, body)
      t.same(parsed.variables, variables)
      t.same(parsed.template?.variables, variables)
      t.same(parsed.tags, tags)
      const Any = withTwins(z.object({ any_map: z.record(z.string(), z.string()) }))
      t.same(parse(Any, { anyMap: headers }).any_map, headers)
    }),
    { numRuns: 50 },
  )
  const headers = { replyTo: 'a', scheduledAt: 'b', 'X-contentId': 'c' }
  t.same(parse(NewEmail, { ...email, headers }).headers, headers)
})

t.test('parsing does not change the body', async t => {
  const body = Object.freeze({ ...email, scheduledAt: 'in 1 hour', attachments: [Object.freeze(inCamelCase(file))] })
  parse(NewEmail, body)
  t.same(Object.keys(body), ['from', 'to', 'subject', 'scheduledAt', 'attachments'])
})

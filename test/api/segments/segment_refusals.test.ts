import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { openTransaction } from '#test/support/database/locks.ts'
import { shows } from '#test/support/shows.ts'
import { addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const theirs = await newAccount(world)
const api = await startApi(t, world, account.key)
const { domain, domain_id } = account
const { pg } = world.pool

const post = (path: string, body: object = {}) => api.request('POST', `/api${path}`, { body })
const patch = (path: string, body: object) => api.request('PATCH', `/api${path}`, { body })
const message = async (body: object) => (await post('/segments', { name: 'Wrong', domain, ...body })).body.message

await post('/contact-properties', { key: 'plan', type: 'string' })
await post('/contact-properties', { key: 'seats', type: 'number' })
const other = await addOtherDomain(world, account)

t.test('POST /segments refuses missing, invalid and taken fields', async t => {
  shows(t, await post('/segments', { domain }), { status: 422, body: { name: 'missing_required_field' } })
  const missing = { statusCode: 422, name: 'validation_error' }
  shows(t, (await post('/segments', { name: 'A' })).body, missing)
  shows(t, (await post('/segments', { name: 'A', domain: theirs.domain })).body, missing)
  for (const member of ['audience_id', 'audienceId']) {
    shows(t, (await post('/segments', { name: 'A', domain, [member]: domain_id })).body, {
      message: `\`${member}\` is not accepted: name the \`domain\`.`,
    })
  }
  shows(t, await post('/segments', { name: 'Taken', domain }), { status: 201 })
  shows(t, (await post('/segments', { name: 'Taken', domain })).body, { statusCode: 409, name: 'validation_error' })
  shows(t, await post('/segments', { name: 'Taken', domain: other.name }), { status: 201 })
  const { body } = await post('/segments', { name: 'Free', domain })
  shows(t, await patch(`/segments/${body.id}`, { name: 'Taken' }), { status: 409 })
})

const UNKNOWN = newId()
const filters: Record<string, [object, string]> = {
  'an unknown status': [
    { status: 'gone' },
    '`filter.status` must be `all`, `subscribed`, `unsubscribed` or `members_only`.',
  ],
  'rules in the filter': [{ rules: { not: {} } }, '`filter.rules` must be beside `filter`, not in it.'],
  'an engagement without campaign': [
    { engagement: { event: 'opened' } },
    '`filter.engagement.campaign_id` must be a string.',
  ],
  'an unknown event': [
    { engagement: { event: 'read', campaign_id: UNKNOWN } },
    '`filter.engagement.event` must be `clicked`, `not_clicked`, `opened` or `not_opened`.',
  ],
  'an unknown campaign': [
    { engagement: { event: 'opened', campaign_id: UNKNOWN } },
    '`filter.engagement.campaign_id` must be the id of a campaign of the domain.',
  ],
  'a property filter without key': [{ property_filters: [{}] }, '`filter.property_filters[0].key` must be a string.'],
  'an unknown key': [
    { property_filters: [{ key: 'nope', operator: 'exists' }] },
    '`filter.property_filters[0].key` names "nope", which is not a contact property.',
  ],
  'an unknown operator': [
    { property_filters: [{ key: 'plan', operator: 'like', value: 'x' }] },
    '`filter.property_filters[0].operator` must be `eq`, `contains` or `exists`.',
  ],
  'a value for exists': [
    { property_filters: [{ key: 'plan', operator: 'exists', value: 'x' }] },
    '`filter.property_filters[0].value` must be left out: `exists` takes none.',
  ],
  'no value for eq': [
    { property_filters: [{ key: 'plan', operator: 'eq' }] },
    '`filter.property_filters[0].value` must be given.',
  ],
  'a value of another type': [
    { property_filters: [{ key: 'seats', operator: 'eq', value: '5' }] },
    '`filter.property_filters[0].value` must be a number.',
  ],
  'contains for a number': [
    { property_filters: [{ key: 'seats', operator: 'contains', value: '5' }] },
    '`filter.property_filters[0].operator` must be `eq` or `exists`: the property is a number.',
  ],
}
for (const [name, [filter, expected]] of Object.entries(filters)) {
  t.test(`a filter with ${name} is refused`, async t => t.equal(await message({ filter }), expected))
}

const text = { field: 'email', operator: 'contains', value: 'x' }
const opened = { field: 'engagement', operator: 'opened', value: { within_days: 3 } }
const equal = { ...text, operator: 'eq' }
const TOO_MANY =
  '`rules` must have at most 50 conditions, with those of `filter`, and each of `engagement` or with `contains` counts as three.'
const deep = (levels: number): object => (levels === 1 ? text : { not: deep(levels - 1) })
const rules: Record<string, [object, string]> = {
  'no form': [{}, '`rules` must have exactly one of `and`, `or`, `not` and `field`.'],
  'two forms': [
    { and: [{ ...text, not: text }] },
    '`rules.and[0]` must have exactly one of `and`, `or`, `not` and `field`.',
  ],
  'an empty list': [{ or: [] }, '`rules.or` must have 1 to 50 items.'],
  'six levels': [deep(6), '`rules.not.not.not.not.not` must not be nested deeper than 5 levels.'],
  '51 conditions': [{ or: [{ and: Array(25).fill(equal) }, { and: Array(26).fill(equal) }] }, TOO_MANY],
  '17 conditions with contains': [{ or: Array(17).fill(text) }, TOO_MANY],
  '17 conditions of engagement': [{ or: Array(17).fill(opened) }, TOO_MANY],
  'an operator of another field': [
    { field: 'unsubscribed', operator: 'contains', value: 'x' },
    '`rules.operator` must be `eq`.',
  ],
  'a name that every object has': [
    { field: 'email', operator: 'constructor', value: 'x' },
    '`rules.operator` must be `eq` or `contains`.',
  ],
  'no value': [{ field: 'email', operator: 'eq' }, '`rules.value` must be given.'],
  'a time without offset': [
    { field: 'created_at', operator: 'after', value: '2027-01-01T00:00:00' },
    '`rules.value` must be an ISO 8601 date or a timestamp with an offset.',
  ],
  'a range of text': [
    { field: 'properties.plan', operator: 'gt', value: 5 },
    '`rules.operator` must be `eq`, `contains` or `exists`: the property is a string.',
  ],
  'two scopes of engagement': [
    { field: 'engagement', operator: 'opened', value: { within_days: 3, count: 1 } },
    '`rules.value` must have exactly one of `campaign_id`, `within_days` and `count`.',
  ],
  'an unknown campaign': [
    { field: 'engagement', operator: 'opened', value: { campaign_id: UNKNOWN } },
    '`rules.value.campaign_id` must be the id of a campaign of the domain.',
  ],
  'an unknown topic': [
    { not: { field: 'topic', operator: 'eq', value: UNKNOWN } },
    '`rules.not.value` must be the id of a topic of the domain.',
  ],
  'another account’s segment': [
    { field: 'segment', operator: 'eq', value: theirs.domain_id },
    '`rules.value` must be the id of another segment of the domain.',
  ],
  'another domain’s segment': [
    { field: 'segment', operator: 'eq', value: other.id },
    '`rules.value` must be the id of another segment of the domain.',
  ],
}
for (const [name, [given, expected]] of Object.entries(rules)) {
  t.test(`rules with ${name} are refused`, async t => t.equal(await message({ rules: given }), expected))
}

t.test('a foreign campaign or topic is refused like an unknown one', async t => {
  await pg.query('INSERT INTO campaigns VALUES ($1, $2, $3)', [theirs.id, newId(), theirs.domain_id])
  await pg.query(`INSERT INTO topics VALUES ($1, $2, $3, 'theirs', NULL, 'opt_in', 'public')`, [
    ...[theirs.id, newId(), theirs.domain_id],
  ])
  const idOf = async (table: string) =>
    (await pg.query(`SELECT id FROM ${table} WHERE account_id = $1`, [theirs.id])).rows[0].id
  const topic = async (value: string) => message({ rules: { field: 'topic', operator: 'eq', value } })
  const opened = async (campaign_id: string) => message({ filter: { engagement: { event: 'opened', campaign_id } } })
  t.equal(await topic(await idOf('topics')), await topic(UNKNOWN))
  t.equal(await opened(await idOf('campaigns')), await opened(UNKNOWN))
})

t.test('rules of segments cannot refer to each other in a circle', async t => {
  const create = async (name: string, rules?: object) => (await post('/segments', { name, domain, rules })).body.id
  const inSegment = (id: string) => ({ field: 'segment', operator: 'eq', value: id })
  const leaf = await create('Leaf')
  const above = await create('Above', inSegment(leaf))
  const change = async (id: string, rules: object | null) => (await patch(`/segments/${id}`, { rules })).body.message
  t.equal(
    await message({ rules: inSegment(above) }),
    '`rules.value` must be the id of a segment whose rules name no segment.',
  )
  t.equal(await change(leaf, inSegment(leaf)), '`rules.value` must be the id of another segment of the domain.')
  t.equal(await change(leaf, inSegment(domain_id)), '`rules` must name no segment: the segment "Above" names this one.')
  const refused = await api.request('DELETE', `/api/segments/${leaf}`)
  t.equal(refused.body.message, 'The segment is named in the rules of the segment "Above": change them first.')
  t.equal(await change(above, null), undefined)
  t.equal((await api.request('DELETE', `/api/segments/${leaf}`)).status, 200)
})

t.test('a slow search of a segment is a 500 with Retry-After', async t => {
  const { body } = await post('/segments', { name: 'Slow', domain, filter: { email_contains: 'x' } })
  const holder = await openTransaction(t, world)
  await holder.query('LOCK TABLE segment_members IN ACCESS EXCLUSIVE MODE')
  const answer = await api.request('GET', `/api/segments/${body.id}/contacts`)
  await holder.rollback()
  shows(t, answer, { status: 500, body: { name: 'internal_server_error' } })
  t.ok(answer.headers.get('retry-after'))
})

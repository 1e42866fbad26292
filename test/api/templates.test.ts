import t from 'tap'
import { v7 as uuid } from 'uuid'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const post = (body: unknown, key = account.key) => api.request('POST', '/api/templates', { body, key })
const patch = (ref: string, body: unknown) => api.request('PATCH', `/api/templates/${ref}`, { body })
const publish = (ref: string) => api.request('POST', `/api/templates/${ref}/publish`)
const duplicate = (ref: string, body?: unknown) => api.request('POST', `/api/templates/${ref}/duplicate`, { body })
const remove = (ref: string) => api.request('DELETE', `/api/templates/${ref}`)

type Template = {
  id: string
  current_version_id: string
  variables: { id: string; key: string }[]
  [field: string]: unknown
}
const read = async (ref: string) => (await api.request('GET', `/api/templates/${ref}`)).body as unknown as Template
const list = async (query: string, key = account.key) => {
  const { body } = await api.request('GET', `/api/templates${query}`, { key })
  return body.data.map(({ name }) => name)
}

const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const small = { name: 'Small', html: '<p>Hi' }
const create = async (fields: object = {}) => (await post({ ...small, ...fields })).body.id

const welcome = {
  name: 'Welcome',
  alias: 'welcome',
  from: 'Acme <hi@acme.com>',
  subject: 'Hi {{first_name}}',
  reply_to: ['Help <help@acme.com>', 'desk@acme.com'],
  html: '<p>Hi {{first_name}}, you are number {{{n|1}}}</p>',
  text: 'Hi {{first_name}}',
  variables: [
    { key: 'first_name', type: 'string', fallback_value: 'you' },
    { key: 'n', type: 'number' },
  ],
}

t.test('POST /templates stores a draft and returns the record of GET', async t => {
  const { status, body } = await post(welcome)
  t.equal(status, 201)
  const record = await read(body.id)
  t.strictSame(body, record)
  t.strictSame(await read('welcome'), record)
  t.strictSame(await read(body.id.toUpperCase()), record)
  const { id, current_version_id, created_at, updated_at, variables, ...rest } = record
  t.strictSame(rest, {
    ...{ object: 'template', alias: 'welcome', name: 'Welcome', status: 'draft', published_at: null },
    ...{ has_unpublished_versions: true, from: 'Acme <hi@acme.com>', subject: 'Hi {{first_name}}' },
    ...{ reply_to: 'Help <help@acme.com>, desk@acme.com', html: welcome.html, text: 'Hi {{first_name}}' },
  })
  t.match({ id, current_version_id, created_at, updated_at }, { id: /-7/, current_version_id: /-7/ })
  for (const time of [created_at, updated_at]) t.match(time, isoDate)
  const times = { id: /-7/, created_at: isoDate, updated_at: isoDate }
  shows(t, variables, [
    { ...times, key: 'first_name', type: 'string', fallback_value: 'you' },
    { ...times, key: 'n', type: 'number', fallback_value: null },
  ])
  t.strictSame(Object.keys(variables[0] ?? {}).sort(), [
    ...['created_at', 'fallback_value', 'id', 'key', 'type', 'updated_at'],
  ])
})

t.test('omitted fields are empty, and omitted variables come from the placeholders', async t => {
  const empty = { alias: null, from: '', subject: '', reply_to: null, text: null, variables: [] }
  for (const fields of [{}, { ...empty, from: null, subject: null, variables: null }, { ...empty, reply_to: '' }]) {
    t.match(await read(await create(fields)), empty)
  }
  const derived = await read(
    await create({ subject: '{{a}}', html: '{{b|1}}{{{a}}}{{EMAIL}}{{poll}}', text: '{{ c }}' }),
  )
  shows(
    t,
    derived.variables,
    ['a', 'b', 'c'].map(key => ({ key, type: 'string', fallback_value: null })),
  )

  const none = await create({ html: '{{a}}', variables: [] })
  await patch(none, { from: 'a@b.com', name: 'None' })
  t.strictSame((await read(none)).variables, [])
  await patch(none, { text: '' })
  shows(t, (await read(none)).variables, [{ key: 'a' }], 'derived again from the new text')
  const given = await create({ html: '{{a}}', variables: [{ key: 'b', type: 'number', fallback_value: 1 }] })
  await patch(given, { variables: null })
  shows(
    t,
    (await read(given)).variables,
    [{ key: 'a', type: 'string', fallback_value: null }],
    'null clears given ones',
  )
})

t.test('`reply_to` accepts the string that GET returns', async t => {
  for (const reply_to of ['a@b.com', 'a@b.com, C <c@d.com>', '"Doe, J" <j@d.com>, a@b.com']) {
    t.match(await read(await create({ reply_to })), { reply_to })
  }
})

t.test('an invalid field is refused with its name', async t => {
  const cases: [object, string, RegExp?][] = [
    [{ name: undefined, html: undefined }, 'missing_required_field', /`name`/],
    [{ html: undefined }, 'missing_required_field', /`html`/],
    [{ from: 'ann' }, 'invalid_from_address'],
    [{ variables: [{ type: 'string' }] }, 'missing_required_field', /`variables\[0\]\.key`/],
    ...[
      ...[{ name: '' }, { name: 1 }, { name: 'x'.repeat(256) }, { html: null }, { html: 1 }, { text: 1 }],
      ...[{ subject: 'a\nb' }, { subject: 'x'.repeat(999) }, { reply_to: 'a' }, { reply_to: 'a@b.com, c' }],
      ...[
        { reply_to: ['a@b.com, c@d.com'] },
        { reply_to: 1 },
        { reply_to: '"\\\\'.repeat(500_000) },
        { html: 'x'.repeat(5_000_001) },
      ],
      ...['', 'A', '-a', '_a', 'a b', 'a/b', 'é', 'a'.repeat(65), uuid(), 1, 'a\n'].map(alias => ({ alias })),
      ...[1, {}, 'a', [1], Array(51).fill({ key: 'a' })].map(variables => ({ variables })),
      ...['', 'a-b', 'a.b', 'é', 'x'.repeat(51), 'FIRST_NAME', 'EMAIL', 'contact', 'this', '__proto__', 'a\n'].map(
        key => ({ variables: [{ key }] }),
      ),
      { variables: [{ key: 'a' }, { key: 'a', type: 'number' }] },
      ...[
        ...[{ type: 'boolean' }, { type: null }, { type: 'number', fallback_value: '1' }, { fallback_value: 1 }],
        ...[{ fallback_value: 'x'.repeat(2_001) }, { fallback_value: true }, { fallback_value: {} }],
        { type: 'number', fallback_value: 2 ** 53 },
      ].map(variable => ({ variables: [{ key: 'a', ...variable }] })),
      { html: Array.from({ length: 51 }, (_, i) => `{{v${i}}}`).join('') },
      { html: '{{a}}'.repeat(20_001) },
    ].map((fields): [object, string] => [fields, 'validation_error']),
  ]
  for (const [fields, name, message = /\w/] of cases) {
    const shown = JSON.stringify(fields).slice(0, 80)
    t.match(await post({ ...small, ...fields }), { status: 422, body: { name, message } }, shown)
  }
  for (const body of [undefined, null, 1, [], 'a']) t.match(await post(body), { status: 422 })
  t.match(await create({ variables: [{ key: 'a', fallback_value: 'x'.repeat(2_000) }], alias: 'a'.repeat(64) }), /-7/)
})

t.test('an alias belongs to one template of an account', async t => {
  const taken = { status: 409, body: { statusCode: 409, name: 'validation_error', message: /`alias`/ } }
  const id = await create({ alias: 'mine' })
  const other_id = await create()
  t.match(await post({ ...small, alias: 'mine' }), taken)
  t.match(await patch(other_id, { alias: 'mine', name: 'New' }), taken)
  t.match(await read(other_id), { alias: null, name: 'Small' })
  t.match(await patch(id, { alias: 'mine' }), { status: 200 }, 'a template may keep its own alias')
  t.match(await post({ ...small, alias: 'mine' }, (await newAccount(world)).key), { status: 201 })
  t.match(await patch(id, { alias: null }), { status: 200 })
  t.match(await patch(other_id, { alias: 'mine' }), { status: 200 })
  t.match(await read('mine'), { id: other_id })
})

t.test('PATCH /templates/:id changes the given fields and keeps the version of a draft', async t => {
  const id = await create({ ...welcome, alias: null })
  const before = await read(id)
  const { status, body } = await patch(id, { subject: 'Hello {{who}}', text: null, reply_to: 'new@acme.com' })
  t.strictSame([status, body], [200, { object: 'template', id }])
  const { updated_at, variables, ...after } = await read(id)
  t.match(after, {
    subject: 'Hello {{who}}',
    text: null,
    reply_to: 'new@acme.com',
    from: before.from,
    html: before.html,
  })
  shows(t, after, { current_version_id: before.current_version_id, status: 'draft', has_unpublished_versions: true })
  t.ok(String(updated_at) > String(before.updated_at))
  t.strictSame(variables.slice(0, 2), before.variables, 'declared variables are kept')
  t.match(variables[2], { key: 'who', type: 'string' })

  await patch(id, { from: null, subject: '', reply_to: null, name: 'Changed' })
  t.match(await read(id), { from: '', subject: '', reply_to: null, name: 'Changed', text: null, html: before.html })
  t.strictSame((await read(id)).variables, before.variables, 'a derived variable is removed with its placeholder')
  t.match(await patch(id, {}), { status: 200 })
  for (const wrong of [undefined, null, [], { html: null }, { name: null }, { alias: 'A' }]) {
    t.match(await patch(id, wrong), { status: 422, body: { name: 'validation_error' } })
  }
})

t.test('a variable keeps its id as long as its key exists', async t => {
  const id = await create({ ...welcome, alias: null })
  const [first, second] = (await read(id)).variables
  await patch(id, {
    variables: [
      { key: 'n', type: 'number', fallback_value: 7 },
      { key: 'first_name', fallback_value: 'you' },
    ],
  })
  const [n, first_name] = (await read(id)).variables
  t.strictSame(first_name, first)
  t.match(n, { id: second?.id, fallback_value: 7 })
})

t.test('POST /templates/:id/publish publishes the newest version; a later change starts another', async t => {
  const id = await create({ alias: 'news', subject: 'One' })
  const { current_version_id } = await read(id)
  const { status, body } = await publish('news')
  t.strictSame([status, body], [200, { object: 'template', id, current_version_id, status: 'published' }])
  const published = await read(id)
  shows(t, published, {
    status: 'published',
    published_at: isoDate,
    has_unpublished_versions: false,
    current_version_id,
  })

  await publish(id)
  t.strictSame(await read(id), published, 'publishing it again changes nothing')
  await patch(id, { name: 'News', alias: 'news2' })
  t.match(await read(id), { name: 'News', alias: 'news2', has_unpublished_versions: false, current_version_id })

  await patch(id, { subject: 'Two' })
  const draft = await read(id)
  shows(t, draft, { status: 'published', subject: 'Two', has_unpublished_versions: true })
  t.match(draft, { published_at: published.published_at, html: published.html })
  t.not(draft.current_version_id, current_version_id)
  await patch(id, { subject: 'Three' })
  t.match(await read(id), { subject: 'Three', current_version_id: draft.current_version_id })

  t.match((await publish(id)).body, { current_version_id: draft.current_version_id })
  shows(t, await read(id), { status: 'published', has_unpublished_versions: false, subject: 'Three' })
})

t.test('a change of a published template to the content that it has makes no version', async t => {
  const id = await create({ ...welcome, alias: 'same' })
  await publish(id)
  const { updated_at: _, ...before } = await read(id)
  const { from, subject, reply_to, html, text } = before
  await patch(id, { name: 'Same', from, subject, reply_to, html, text, variables: welcome.variables })
  t.match(await read(id), { ...before, name: 'Same' })
  await patch(id, { variables: welcome.variables.slice(1) })
  t.match(await read(id), { has_unpublished_versions: true, variables: { length: 1 } })
})

t.test('concurrent changes all apply, to one new version', async t => {
  const id = await create({ subject: 'One' })
  await publish(id)
  const texts = ['subject', 'text', 'from', 'reply_to']
  await Promise.all(texts.map(field => patch(id, { [field]: 'a@b.com' })))
  t.match(await read(id), { subject: 'a@b.com', text: 'a@b.com', from: 'a@b.com', reply_to: 'a@b.com' })
  const { rows } = await world.pool.pg.query('SELECT count(*) FROM template_versions WHERE template_id = $1', [id])
  t.equal(rows[0].count, 2)
})

t.test('a concurrent change and publish both succeed', async t => {
  const id = await create()
  for (let n = 1; n <= 10; n++) {
    const [changed, published] = await Promise.all([patch(id, { text: `${n}` }), publish(id)])
    shows(t, [changed, published], [{ status: 200 }, { status: 200, body: { current_version_id: /-7/ } }])
    t.match(await read(id), { text: `${n}` })
  }
})

t.test('duplicate makes a draft of the newest version', async t => {
  const id = await create({ ...welcome, alias: 'original' })
  await publish(id)
  await patch(id, { subject: 'Newest' })
  const { status, body } = await duplicate('original')
  t.equal(status, 201)
  const [copy, original] = [body as unknown as Template, await read(id)]
  t.strictSame(copy, await read(body.id))
  shows(t, copy, { name: 'Copy of Welcome', alias: null, status: 'draft', published_at: null, subject: 'Newest' })
  const { html, text, from, reply_to } = original
  t.match(copy, { html, text, from, reply_to })
  const keys = ({ variables }: Template) => variables.map(({ key }) => key)
  t.strictSame(keys(copy), keys(original))
  t.not(copy.variables[0]?.id, original.variables[0]?.id)
  t.match(await duplicate(id, { name: 'Mine' }), { status: 201, body: { name: 'Mine' } })
  t.match(await duplicate(id, { name: '' }), { status: 422 })
  const long = await create({ name: '🎉'.repeat(127) })
  t.match((await duplicate(long)).body.name, /^Copy of 🎉+.?$/u)
})

t.test('DELETE /templates/:id removes a template and frees its alias', async t => {
  const id = await create({ alias: 'gone' })
  await publish(id)
  await patch(id, { subject: 'x' })
  t.strictSame((await remove('gone')).body, { object: 'template', id, deleted: true })
  t.match(await remove(id), { status: 404 })
  t.match(await post({ ...small, alias: 'gone' }), { status: 201 })
})

t.test('an unknown id or alias of a template is 404 on every route', async t => {
  const notFound = { status: 404, body: { statusCode: 404, name: 'not_found', message: 'Template not found' } }
  for (const ref of [uuid(), 'unknown', 'A', 'x'.repeat(65), '%00', '%F0%9F', '..%2f', "'"]) {
    t.match(await api.request('GET', `/api/templates/${ref}`), notFound, ref)
    t.match(await patch(ref, []), notFound, `${ref}: before the body`)
    t.match(await remove(ref), notFound, ref)
    t.match(await publish(ref), notFound, ref)
    t.match(await duplicate(ref, []), notFound, ref)
  }
})

t.test('GET /templates lists 20, newest first, filtered by status and q', async t => {
  const { key } = await newAccount(world)
  for (let i = 1; i <= 22; i++) await post({ ...small, name: `Number ${i}` }, key)
  const { body } = await post({ ...small, name: 'Special', alias: 'sp-cial', subject: '100% {{off}}' }, key)
  await api.request('POST', `/api/templates/${body.id}/publish`, { key })
  t.strictSame((await list('', key)).slice(0, 3), ['Special', 'Number 22', 'Number 21'])
  t.equal((await list('', key)).length, 20)
  t.strictSame(await list('?limit=1&status=draft', key), ['Number 22'])
  t.strictSame(await list('?status=published', key), ['Special'])
  for (const q of ['SPECIAL', 'sp-c', '100%25', '%25 {{O', '0%25', '{{off}}'])
    t.strictSame(await list(`?q=${q}`, key), ['Special'], q)
  for (const q of ['_', '%5C', 'nothing', '%25%25', "'"]) t.strictSame(await list(`?q=${q}`, key), [], q)
  t.strictSame(await list('?q=number 2&status=draft&limit=2', key), ['Number 22', 'Number 21'])
  for (const query of [
    'status=x',
    'status=',
    'status=draft&status=draft',
    'q=%00',
    'q=l%0As',
    'q=a&q=b',
    `q=${'x'.repeat(201)}`,
  ]) {
    t.match(
      await api.request('GET', `/api/templates?${query}`),
      { status: 422, body: { name: 'validation_error' } },
      query,
    )
  }
  const { body: page } = await api.request('GET', '/api/templates?limit=1', { key })
  t.strictSame(Object.keys(page.data[0] ?? {}).sort(), [
    ...['alias', 'created_at', 'id', 'name', 'object', 'published_at', 'status', 'subject', 'updated_at'],
  ])
})

t.test('a placeholder in `from` or `reply_to` is refused', async t => {
  const id = await create({ from: 'hi@acme.com' })
  for (const text of ['{{name}} <hi@acme.com>', '{{{name|x}}} <hi@acme.com>', 'hi@{{domain}}', '{{ sender }}']) {
    for (const [field, name] of [
      ['from', 'invalid_from_address'],
      ['reply_to', 'validation_error'],
      ['replyTo', 'validation_error'],
    ] as const) {
      const message = `\`${field}\` must not have placeholders: they are replaced only in \`subject\`, \`html\` and \`text\`.`
      for (const answer of [await post({ ...small, [field]: text }), await patch(id, { [field]: text })]) {
        t.match(answer, { status: 422, body: { name } }, text)
        t.equal(answer.body.message, message)
      }
    }
  }
  t.match(await patch(id, { reply_to: ['a@b.com', '{{name}} <a@b.com>'] }), { status: 422 })
  t.match(await patch(id, { from: '{name} <hi@acme.com>' }), { status: 200 }, 'single braces are not a placeholder')

  await world.pool.pg.query(`UPDATE template_versions SET sender = '{{name}} <hi@acme.com>' WHERE template_id = $1`, [
    id,
  ])
  t.match(await publish(id), {
    status: 422,
    body: { name: 'validation_error', message: /^`from` must not have placeholders: / },
  })
  shows(t, await read(id), { status: 'draft' })
  await patch(id, { from: 'hi@acme.com' })
  t.match(await publish(id), { status: 200 })
})

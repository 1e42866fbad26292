import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')

const HTML = '<p>Hi {{name|there}}, {{{markup}}} {{price}}</p><a href="{{unsubscribe_url}}">Leave</a>'
const variables = [
  { key: 'name', type: 'string', fallback_value: null },
  { key: 'markup', type: 'string', fallback_value: '<b>x</b>' },
  { key: 'price', type: 'number' },
]

async function create(fields: object = {}): Promise<string> {
  const template = { name: 'T', subject: 'For {{name|you}}', html: HTML, variables, ...fields }
  return (await api.request('POST', '/api/templates', { body: template })).body.id
}
const render = (id: string, body?: unknown) => api.request('POST', `/api/templates/${id}/render`, { body })

t.test('POST /templates/:id/render fills in variables and fallbacks but no recipient links', async t => {
  const id = await create()
  const { status, body } = await render(id, { variables: { name: 'A & B', price: 7 } })
  t.equal(status, 200)
  t.strictSame(body, {
    ...{ object: 'rendered_template', template_id: id, subject: 'For A & B' },
    html: '<p>Hi A &amp; B, <b>x</b> 7</p><a href="{{unsubscribe_url}}">Leave</a>',
    text: 'Hi A & B, x 7\n\nLeave <{{unsubscribe_url}}>',
  })
  const { rows } = await world.pool.pg.query('SELECT FROM emails')
  t.equal(rows.length, 0, 'nothing is sent')
})

t.test('an email has the same parts as its rendered template', async t => {
  const html = '<h1>Hi {{name}}</h1><p>{{price}} &euro; <a href="https://a.com/?n={{name}}">Pay</a></p>'
  for (const fields of [{ html }, { html, text: 'Own text for {{name}}' }, { html: '<p>No placeholders</p>' }]) {
    const id = await create({ ...fields, alias: undefined })
    await api.request('POST', `/api/templates/${id}/publish`, {})
    const given = { name: 'Änna <3', price: 7.5 }
    const { body: rendered } = await render(id, { variables: given })
    const email = { from: `a@${account.domain}`, to: 'b@b.com', template_id: id, variables: given }
    const { body: sent } = await api.request('POST', '/api/emails', { body: email })
    await work.sender.offer([sent.id])
    await work.sender.idle()
    const { subject, html, text } = rendered as unknown as { subject: string; html: string; text: string }
    shows(t, (await api.request('GET', `/api/emails/${sent.id}`)).body, { status: 'delivered', subject, html, text })
  }
})

t.test('the newest version is rendered, published or not', async t => {
  const id = await create({ html: '<p>One</p>', subject: null })
  await api.request('POST', `/api/templates/${id}/publish`, {})
  await api.request('PATCH', `/api/templates/${id}`, { body: { html: '<p>Two</p>' } })
  shows(t, (await render(id)).body, { subject: '', html: '<p>Two</p>', text: 'Two' })
})

t.test('render refuses the variables that a send refuses', async t => {
  const id = await create()
  for (const [variables, message] of [
    [{}, 'Missing value for the variable `price`.'],
    [{ price: 'x' }, '`variables.price` must be a number.'],
    [{ price: 7, 'a-b': 1 }, '`variables` has the key "a-b", which must be 1 to 50 letters, digits or `_`.'],
  ] as const)
    shows(t, (await render(id, { variables })).body, { name: 'validation_error', message })
})

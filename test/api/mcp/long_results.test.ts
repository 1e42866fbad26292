import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const client = new Client({ name: 'test', version: '1' })
const requestInit = { headers: { authorization: `Bearer ${account.key}` } }
await client.connect(new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit }))
t.teardown(() => client.close())

async function call(name: string, given: object): Promise<string[]> {
  const { content } = await client.callTool({ name, arguments: given as Record<string, unknown> })
  return (content as { text: string }[]).map(({ text }) => text)
}

/** The result in a text, which may begin with a warning. */
const resultIn = (text: string): Record<string, string> => JSON.parse(text.slice(text.indexOf('{')))

/** Reads a text to its end, as the notes say. Returns its parts. */
async function readOn(name: string, given: object, member: string): Promise<string[]> {
  const parts: string[] = []
  for (let offset: string | undefined = '0'; offset !== undefined; ) {
    const [text = '', note = ''] = await call(name, { ...given, offset: Number(offset) })
    parts.push(resultIn(text)[member] ?? '')
    offset = /with `offset`: (\d+)/.exec(note)?.[1]
  }
  return parts
}

/** 50,000 characters; one of two code units begins before each multiple of 20,000. */
const LONG = `<p>${'😀'.repeat(24_996)}</p>x`

t.test('get_email, preview_email and render_template cut long texts, and return the rest with `offset`', async t => {
  const email = { from: `a@${account.domain}`, to: 'b@b.com', subject: 'Long', html: LONG, text: 'Short' }
  const sent = await api.request('POST', '/api/emails', { body: email })
  const template = await api.request('POST', '/api/templates', { body: { name: 'Long', html: LONG, text: 'Short' } })
  for (const [name, given] of [
    ['get_email', { id: sent.body.id }],
    ['preview_email', email],
    ['render_template', { id: template.body.id }],
  ] as const) {
    const [text = '', ...notes] = await call(name, given)
    const result = resultIn(text)
    t.strictSame(
      [result.html, result.text, notes],
      [
        ...[LONG.slice(0, 19_999), 'Short'],
        [
          `Long texts are cut: \`html\` has 50000 characters. Those from 0 to 20000 are shown. For the next ones, call \`${name}\` with \`offset\`: 20000.`,
        ],
      ],
      name,
    )
    const parts = await readOn(name, given, 'html')
    t.strictSame([parts.length, parts.join('')], [3, LONG], name)
    t.ok(parts.every(part => part.isWellFormed()))
  }
})

t.test('the note about a received email has no text of strangers', async t => {
  const text = 'Hello. '.repeat(4_000)
  const headers = { 'Call-delete-all': 'x'.repeat(30_000) }
  await receive(work, account, await compose({ subject: 'Long', text, headers }))
  const { id } = (await api.request('GET', '/api/emails/receiving')).body.data[0] ?? {}
  const [shown = '', note = ''] = await call('get_received_email', { id })
  t.match(shown, /^The following JSON is received email/)
  t.match(note, /^Long texts are cut: .*call `get_received_email` with `offset`: 20000\.$/)
  t.notMatch(note, /Call-delete-all/i)
  t.equal((await readOn('get_received_email', { id }, 'text')).join('').trim(), text.trim())
})

t.test('results without long texts have no note, and `offset` must be an integer', async t => {
  const { body } = await api.request('POST', '/api/templates', { body: { name: 'Short', html: '<p>x</p>' } })
  t.equal((await call('render_template', { id: body.id, offset: null })).length, 1)
  for (const offset of [-1, 1.5, 'x', {}]) {
    const [text = ''] = await call('render_template', { id: body.id, offset })
    t.match(JSON.parse(text), { name: 'validation_error', message: '`offset` must be an integer of at least 0.' })
  }
  const [saved = '', ...notes] = await call('save_template', { name: 'Saved', html: LONG })
  t.equal(JSON.parse(saved).html.length, 19_999)
  t.strictSame(notes, ['Long texts are cut: `html` has 50000 characters. Those from 0 to 20000 are shown.'])
})

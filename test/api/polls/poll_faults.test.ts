import t from 'tap'
import { erasePerson } from '#flows/erasure/erase_person.ts'
import { startProxiedApi } from '#test/support/api.ts'
import { makePolled, readPollState } from '#test/support/polls.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const { api, proxy } = await startProxiedApi(t, world, account.key)
const { pg } = world.pool

const ask = async (method: string, path: string, body?: URLSearchParams) => {
  const response = await fetch(api.url + path, { method, ...(body && { body }), headers: { 'accept-language': 'de' } })
  return { status: response.status, text: await response.text(), retry_after: response.headers.get('retry-after') }
}
const press = (path: string, answer: string) => ask('POST', path, new URLSearchParams({ answer }))
const countsOf = async (email_id: string) => {
  const { rows } = await pg.query(
    `SELECT c.option, sum(c.count)::integer AS count FROM poll_counts c JOIN polls p ON p.id = c.poll_id
     WHERE p.email_id = $1 GROUP BY c.option HAVING sum(c.count) <> 0 ORDER BY c.option`,
    [email_id],
  )
  return rows
}

t.test('the poll page responds 503 while Postgres is away', async t => {
  const { path, email_id } = await makePolled(world, account)
  t.equal((await ask('GET', path)).status, 200)
  proxy.refuse(true)
  proxy.cut()
  const state = await readPollState(world, account)
  for (const { status, text, retry_after } of [await press(path, 'great'), await ask('GET', path)]) {
    shows(t, { status, retry_after }, { status: 503, retry_after: '5' })
    t.match(text, /Es wurde nichts geändert/)
  }
  const forged = path.replace(/.(?=\/great$)/, letter => (letter === 'A' ? 'B' : 'A'))
  t.equal((await press(forged, 'great')).status, 404, 'a bad link needs no Postgres')
  t.strictSame(await readPollState(world, account), state)
  proxy.refuse(false)
  t.equal((await press(path, 'great')).status, 200)
  t.strictSame(await countsOf(email_id), [{ option: 'great', count: 1 }])
})

for (const [cut, text] of [
  ['cutRequest', 'answer_poll'],
  ['cutReply', 'answer_poll'],
] as const) {
  t.test(`a repeated answer after a lost connection counts once (${cut} of ${text})`, async t => {
    const { path, email_id } = await makePolled(world, account)
    await ask('GET', path)
    const lost = proxy[cut](text)
    const first = await press(path, 'bad')
    await lost
    t.ok([200, 503].includes(first.status))
    await waitUntil(async () => (await press(path, 'bad')).status === 200, 'the answer is taken')
    t.strictSame(await countsOf(email_id), [{ option: 'bad', count: 1 }])
  })
}

t.test('answers during the erasure of a contact are counted exactly', async t => {
  for (let n = 0; n < 4; n++) {
    const person = `p${n}@b.com`
    const { body } = await api.request('POST', '/api/contacts', { body: { email: person } })
    const together = await makePolled(world, account, { to: [person, 'other@b.com'] })
    const alone = await makePolled(world, account, { to: [person] })
    await pg.query(`UPDATE deliveries SET state = 'delivered', next_at = NULL WHERE email_id = $1`, [alone.email_id])
    t.equal((await press(together.path, 'ok')).status, 200)
    const [, ...answers] = await Promise.all([
      erasePerson(world, account.id, { id: body.id }),
      press(alone.path, 'great'),
      press(together.paths[1] as string, 'bad'),
    ])
    t.strictSame(new Set(answers.map(({ status }) => status)).difference(new Set([200, 404])), new Set())
    const { rows } = await pg.query('SELECT FROM polls WHERE email_id = $1', [alone.email_id])
    t.equal(rows.length, 0)
    t.strictSame(await countsOf(together.email_id), [{ option: 'bad', count: 1 }])
  }
})

import t, { type Test } from 'tap'
import { MAX_PAGE_BYTES } from '#sql/page.ts'
import { startApi } from '#test/support/api.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { acceptEmail, openWork } from '#test/support/sending.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
const path = '/api/emails/receiving'

type Email = {
  id: string
  to: string[]
  cc?: string[]
  received_for: string[]
  subject: string
  attachments: { filename: string }[]
  attachments_count: number
  recipients_count?: number
}
type List = { has_more: boolean; data: Email[] }

const get = async (path: string, { key } = account) => {
  const { status, text, body } = await api.request('GET', path, { key })
  t.equal(status, 200, path)
  return { bytes: Buffer.byteLength(text), body: body as unknown }
}

t.test('GET /emails/receiving shows 20 attachments of an email and their count', async t => {
  const filenames = Array.from({ length: 25 }, (_, n) => `${n}.txt`)
  const raw = await compose({ text: 'Hi', attachments: filenames.map(filename => ({ filename, content: '' })) })
  const id = await receive(work, account, raw)
  const names = (email: Email) => email.attachments.map(file => file.filename)

  const listed = ((await get(path)).body as List).data[0] as Email
  t.same([listed.id, names(listed), listed.attachments_count], [id, filenames.slice(0, 20), 25])
  const single = (await get(`${path}/${id}`)).body as Email
  t.same([names(single), single.attachments_count], [filenames, 25])
  const files = (await get(`${path}/${id}/attachments`)).body as List
  t.same([files.has_more, files.data.length], [false, 25])

  await receive(work, account, await compose({ text: 'Hi' }))
  t.notHas(((await get(`${path}?limit=1`)).body as List).data[0], 'attachments_count')
})

t.test('GET /emails/receiving shows 16 KB of the addresses of an email', async t => {
  const many = (name: string) => Array.from({ length: 900 }, (_, n) => `${name}-${String(n).padStart(4, '0')}@y.com`)
  const [to, cc] = [many('to'), many('cc')]
  const id = await receive(work, account, await compose({ to, cc, text: 'Hi', subject: 'S'.repeat(2_000) }))

  const { data } = (await get(`${path}?limit=1`)).body as List
  const listed = data[0] as Email
  t.equal(listed.id, id)
  t.same(listed.received_for, [`me@${account.domain}`], 'those of the envelope come first')
  t.same(listed.to, to.slice(0, listed.to.length))
  const addresses = JSON.stringify([listed.received_for, listed.to, listed.cc])
  t.ok(addresses.length > 16_000 && addresses.length <= 16_384, `${addresses.length}`)
  t.equal(listed.recipients_count, 1_801)
  t.equal(listed.subject.length, 1_000)

  const single = (await get(`${path}/${id}`)).body as Email
  t.same([single.to, single.cc, single.subject.length], [to, cc, 2_000])
  t.notHas(single, 'recipients_count')
})

/** Walks a list in pages of 100 both ways; returns the ids, newest first, and the size of each page. */
async function walk(path: string, account: TestAccount) {
  const ids: string[] = []
  const sizes: number[] = []
  for (let has_more = true; has_more; ) {
    const { bytes, body } = await get(`${path}?limit=100${ids.length > 0 ? `&after=${ids.at(-1)}` : ''}`, account)
    const list = body as List
    ids.push(...list.data.map(({ id }) => id))
    sizes.push(bytes)
    has_more = list.has_more
  }
  const back: string[] = []
  for (let before = '00000000-0000-0000-0000-000000000000'; ; before = back[0] as string) {
    const { bytes, body } = await get(`${path}?limit=100&before=${before}`, account)
    const list = body as List
    back.unshift(...list.data.map(({ id }) => id))
    sizes.push(bytes)
    if (!list.has_more) break
  }
  return { ids, back, sizes }
}

async function checkWalk(t: Test, path: string, account: TestAccount, expected: string[]): Promise<void> {
  const { ids, back, sizes } = await walk(path, account)
  t.same(ids, expected)
  t.same(back, expected)
  t.ok(sizes.length > 2 && Math.max(...sizes) > MAX_PAGE_BYTES / 2, `the pages end early: ${sizes}`)
  t.ok(Math.max(...sizes) <= MAX_PAGE_BYTES, `${sizes}`)
}

t.test('GET /emails/receiving ends a page at 16 MB', async t => {
  const other = await newAccount(world)
  const id = await receive(work, other, await compose({ text: 'Hi' }))
  const values = [other.id, id]
  const { rows } = await world.pool.pg.query<{ id: string }>(
    `WITH emails AS (
       INSERT INTO received_emails (account_id, id, domain_id, state, mail_from, received_for, client, sha256, size)
       SELECT account_id, uuidv7(n * interval '1 second' - interval '1 hour'), domain_id, state, mail_from, received_for,
         client, sha256, size
       FROM received_emails, generate_series(1, 30) AS n WHERE account_id = $1 AND id = $2
       RETURNING account_id, id
     ),
     files AS (
       INSERT INTO received_attachments (account_id, id, received_email_id, position, filename, content_type,
         content_disposition, content_id, size)
       SELECT account_id, uuidv7(), id, n, repeat(chr(1), 255), 'text/plain', 'inline', repeat(chr(1), 6000), 0
       FROM emails, generate_series(1, 21) AS n
     )
     SELECT id FROM emails ORDER BY id DESC`,
    values,
  )
  await checkWalk(t, path, other, [id, ...rows.map(row => row.id)])
})

t.test('GET /emails ends a page at 16 MB', async t => {
  const other = await newAccount(world)
  const id = await acceptEmail(world, other)
  const { rows } = await world.pool.pg.query<{ id: string }>(
    `INSERT INTO emails (account_id, id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status, last_event)
     SELECT account_id, uuidv7(n * interval '1 second' - interval '1 hour'), n, sender, f.all, f.all, f.all, f.all, subject,
       tags, status, last_event
     FROM emails, generate_series(1, 30) AS n,
       (SELECT array_agg('"' || repeat('日', 990) || '" <a@b.com>') FROM generate_series(1, 50)) AS f("all")
     WHERE account_id = $1 AND id = $2
     RETURNING id`,
    [other.id, id],
  )
  const ids = rows.map(row => row.id).sort()
  await checkWalk(t, '/api/emails', other, [id, ...ids.reverse()])
})

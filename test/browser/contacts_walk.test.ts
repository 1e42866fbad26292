import t from 'tap'
import { openBrowser } from '#test/support/browser.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { openWalk } from '#test/support/walk.ts'

const ROWS = 50_000
const BAD = 30

const { account, api, ask, get, post, mailTo } = await openWalk(t)

/** The members of responses that this story uses. */
type Body = {
  id: string
  email: string
  line: number
  last_event: string
  completed_at: string | null
  has_more: boolean
  data: Body[]
}

/** As German Excel writes it: Windows-1252, semicolons, CRLF, quoted cells with line breaks. */
function excelFile(): { file: Buffer; lines: number[] } {
  const lines: number[] = []
  let line = 2
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const isBad = n % Math.floor(ROWS / BAD) === 7 && lines.length < BAD
    const isLong = n % 1_000 === 500
    const city = n % 10 === 0 ? 'K\u00f6ln' : 'Z\u00fcrich'
    const row = `${isBad ? 'no address' : `p${n}@y.com`};J\u00f6rg;Wei\u00df;${city};${n % 7};${isLong ? '"two\r\nlines"' : ''}`
    if (isBad) lines.push(line)
    line += isLong ? 2 : 1
    return row
  })
  return { file: Buffer.from(['E-Mail;Vorname;Name;Stadt;Sitze;Notiz', ...rows, ''].join('\r\n'), 'latin1'), lines }
}

async function importFile(file: Buffer): Promise<Body> {
  const form = new FormData()
  form.set('file', new Blob([file], { type: 'text/csv' }), 'Kunden.csv')
  const properties = { city: { column: 'Stadt' }, seats: { column: 'Sitze' }, note: { column: 'Notiz' } }
  const columns = { email: 'E-Mail', first_name: 'Vorname', last_name: 'Name', properties }
  form.set('column_map', JSON.stringify(columns))
  const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test' }
  const response = await fetch(`${api.url}/api/contacts/imports`, { method: 'POST', headers, body: form })
  const { id, message } = (await response.json()) as { id?: string; message?: string }
  if (id === undefined) throw new Error(message)
  return waitUntil(async () => {
    const found = await get<Body>(`/contacts/imports/${id}`)
    return found.completed_at && found
  }, 'the import has ended')
}

async function listAll(path: string): Promise<Body[]> {
  const rows: Body[] = []
  for (let after = ''; ; after = `&after=${rows.at(-1)?.id}`) {
    const page = await get<{ data: Body[]; has_more: boolean }>(`${path}?limit=100${after}`)
    rows.push(...page.data)
    if (!page.has_more) return rows
  }
}

t.test('contacts from Excel are imported and segmented, and unsubscribed ones get no email', async t => {
  await post('/contact-properties', { key: 'city', type: 'string' })
  await post('/contact-properties', { key: 'seats', type: 'number' })
  await post('/contact-properties', { key: 'note', type: 'string' })
  const { file, lines } = excelFile()
  const ended = await importFile(file)
  const counts = { total: ROWS, created: ROWS - BAD, updated: 0, skipped: 0, failed: BAD }
  shows(t, ended, { status: 'completed', counts })
  const errors = await listAll(`/contacts/imports/${ended.id}/errors`)
  t.strictSame(
    errors.map(({ line }) => line),
    lines,
  )
  shows(t, await get('/contacts/p500@y.com'), {
    first_name: 'J\u00f6rg',
    last_name: 'Wei\u00df',
    properties: { city: 'K\u00f6ln', seats: 500 % 7, note: /^two\r?\nlines$/ },
  })

  const filter = { status: 'subscribed', property_filters: [{ key: 'city', operator: 'eq', value: 'K\u00f6ln' }] }
  const { id: segment } = await post('/segments', { domain: account.domain, name: 'K\u00f6ln', filter })
  const members = await listAll(`/segments/${segment}/contacts`)
  const found = new Set(members.map(({ email }) => email))
  t.equal(members.length, found.size)
  const isBad = (n: number) => n % Math.floor(ROWS / BAD) === 7 && Math.floor(n / Math.floor(ROWS / BAD)) < BAD
  const expected = Array.from({ length: ROWS }, (_, n) => n).filter(n => n % 10 === 0 && !isBad(n))
  t.strictSame([...found].sort(), expected.map(n => `p${n}@y.com`).sort())

  const email = 'p30000@y.com'
  const from = `News <news@${account.domain}>`
  const html = '<p>Hello</p><p><a href="{{unsubscribe_url}}">Unsubscribe</a></p>'
  const { id } = await post('/emails', { from, to: email, subject: 'News', html })
  await waitUntil(async () => (await get<Body>(`/emails/${id}`)).last_event === 'delivered', 'the email is delivered')
  const page = await (await openBrowser(t)).newPage()
  const [, link = ''] = /href="([^"]+)"/.exec(String((await mailTo(email)).html)) ?? []
  await page.goto(link)
  const button = page.getByRole('button', { name: 'Unsubscribe from everything', exact: true })
  await Promise.all([page.waitForNavigation(), button.click()])
  t.match(await page.getByRole('status').innerText(), /^You are unsubscribed\./)

  const isThere = async () => (await listAll(`/segments/${segment}/contacts`)).some(member => member.email === email)
  t.notOk(await isThere(), 'gone from the segment')
  await ask('DELETE', `/contacts/${email}`)
  const again = { email, properties: { city: 'K\u00f6ln' } }
  shows(t, await post('/contacts', again), { email, unsubscribed: true })
  t.notOk(await isThere(), 'still unsubscribed when added again')
})

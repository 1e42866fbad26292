import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { startForbidden } from '#test/support/http/fetching.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount } from '#test/support/world.ts'

const dashboard = await openDashboard(t)
const { world, account, api, faults } = dashboard
const owner = await dashboard.signIn('owner')

/** A picture of one pixel. */
const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

/** Attacks an email may attempt, with styles that are allowed. */
function hostileHtml(url: string): string {
  return `<style>#a { color: rgb(1, 2, 3) } @import url(${url}/0)</style><p id="a" style="font-weight: 700">Hi</p>
<script>document.title = 'pwned'; top.pwned = 1; fetch('${url}/1')</script>
<img src="${url}/2" onerror="fetch('${url}/3')"><img src=x onerror="top.pwned = 1"><img id="inline" src="cid:pixel">
<a id="link" target="_self" href="javascript:document.title='pwned'">x</a>
<form action="${url}/4"><button id="go">go</button></form><meta http-equiv="refresh" content="0;url=${url}/5">
<link rel="preconnect" href="${url}"><link rel="stylesheet" href="${url}/6"><link rel="dns-prefetch" href="${url}">
<div style="background: url(${url}/7)">x</div><iframe src="${url}/8"></iframe><object data="${url}/9"></object>
<video poster="${url}/10" src="${url}/11" autoplay></video><svg><image href="${url}/12" /></svg><base href="${url}/">`
}

type Styled = { getComputedStyle(element: unknown): { color: string; fontWeight: string } }

function styleOf(element: unknown): string[] {
  const { color, fontWeight } = (globalThis as unknown as Styled).getComputedStyle(element)
  return [color, fontWeight]
}

function widthOf(image: unknown): number {
  return (image as { naturalWidth: number }).naturalWidth
}

/** Keeps the paths that Turbo would prefetch. */
const notePrefetches = `globalThis.prefetched = []
document.addEventListener('turbo:before-prefetch', ({ target }) => prefetched.push(target.pathname))`

t.test('a hostile email runs no scripts and makes no requests, but keeps its styles', async t => {
  const { port, heard } = await startForbidden(t)
  const attachments = [{ filename: 'pixel.gif', content: PIXEL, content_id: 'pixel' }]
  const html = hostileHtml(`http://127.0.0.66:${port}`)
  const id = await acceptEmail(world, account, { html, attachments })
  t.strictSame(faults, [])
  await owner.goto(`/emails/${id}`)
  t.strictSame(await findAccessibilityFaults(owner), [])
  const frame = owner.frameLocator('iframe[title="HTML of the email"]')
  t.strictSame(await frame.locator('#a').evaluate(styleOf), ['rgb(1, 2, 3)', '700'])
  t.equal(await frame.locator('#inline').evaluate(widthOf), 1)
  await frame.locator('#link').click()
  await frame.locator('#go').click()
  t.strictSame([heard(), owner.context().pages().length], [0, 1])
  t.equal(await owner.evaluate('globalThis.pwned'), undefined)
  t.notMatch(await owner.title(), /pwned/)
  // Opened in its own tab it has no more rights.
  await owner.goto(`/emails/${id}/preview`)
  t.strictSame(await owner.locator('#a').evaluate(styleOf), ['rgb(1, 2, 3)', '700'])
  t.equal(await owner.evaluate('self.origin'), 'null')
  t.strictSame([heard(), await owner.title()], [0, ''])
  t.ok(faults.length > 0, 'the content security policy blocked its attempts')
  await owner.goto(`/emails/${id}`)
  await owner.click('a:text("Show remote images")')
  await owner.waitForSelector('text=Remote images are shown this once.')
  await waitUntil(() => heard() > 0, 'images are loaded once they are asked for')
  t.equal(await owner.evaluate('globalThis.pwned'), undefined)
  await owner.goto('/')
  faults.length = 0
})

t.test('the first email is captured and opened from the overview', async t => {
  const attachments = [
    { filename: 'pixel.gif', content: PIXEL, content_id: 'pixel' },
    { filename: 'notes.html', content: Buffer.from('<script>1</script>').toString('base64') },
  ]
  const html = '<p id="hello">It works. <img src="cid:pixel"></p>'
  const id = await acceptEmail(world, account, { to: 'Ann <ann@y.com>', subject: 'First', html, attachments })
  const work = openWork(t, world)
  await deliverEmails(work, [id])
  await owner.goto('/')
  await owner.click('section:has(h2:text("Captured")) a:text("ann@y.com")')
  await owner.waitForSelector('h1:text("First")')
  t.match(await owner.textContent('.facts'), /To *Ann <ann@y.com>.*Recipient *ann@y.com/s)
  t.equal(await owner.frameLocator('iframe').locator('#hello img').evaluate(widthOf), 1)
  const [raw, file] = await Promise.all(
    ['Download the message (.eml)', 'notes.html'].map(async text =>
      owner.request.get((await owner.getAttribute(`a:text("${text}")`, 'href')) as string),
    ),
  )
  t.match(await raw?.text(), /^DKIM-Signature: .*^Subject: First\r$/ms)
  t.match(file?.headers(), { 'content-disposition': /^attachment/, 'content-security-policy': /^sandbox/ })
  await owner.click('a:text("View email")')
  await owner.click('a:text("View captured message")')
  await owner.waitForSelector('a:text("View email")')

  const other = await newAccount(world)
  const theirs = await acceptEmail(world, other)
  await deliverEmails(work, [theirs])
  for (const path of ['', '/preview', '/raw', '/files/0']) {
    t.equal((await owner.request.get(`/captured/${theirs}${path}`, { headers: { accept: 'text/html' } })).status(), 404)
  }
  await owner.goto('/captured')
  t.strictSame(await owner.locator('tbody th').allTextContents(), ['ann@y.com'])
})

t.test('an email that failed is sent again as a new one, with its files', async t => {
  const attachments = [{ filename: 'notes.txt', content: Buffer.from('Notes').toString('base64') }]
  const to = ['"Ann, A." <ann@y.com>', 'bob@y.com']
  const tags = [{ name: 'kind', value: 'invoice' }]
  const id = await acceptEmail(world, account, { to, subject: 'Invoice', html: '<p>Due</p>', attachments, tags })
  await owner.goto(`/emails/${id}`)
  t.equal(await owner.locator('a:text("Send again")').count(), 0, 'not before it is settled')
  await world.pool.pg.query("UPDATE emails SET status = 'failed' WHERE id = $1", [id])
  await owner.reload()
  await owner.click('a:text("Send again")')
  await owner.waitForSelector('h1:text("Send again: Invoice")')
  t.strictSame(await findAccessibilityFaults(owner), [])
  await owner.fill('#from', 'nobody')
  await owner.fill('#subject', 'Invoice 2')
  await owner.click('button:text("Send as a new email")')
  await owner.waitForSelector('[role=alert]')
  t.equal(await owner.inputValue('#subject'), 'Invoice 2')
  await owner.fill('#from', `hello@${account.domain}`)
  await owner.click('button:text("Send as a new email")')
  await owner.waitForSelector('.notice:has-text("This is the new email.")')
  const sent = await readEmail(world, account, new URL(owner.url()).pathname.slice('/emails/'.length))
  t.notOk(sent.id === id)
  shows(t, sent, {
    to,
    subject: 'Invoice 2',
    html: '<p>Due</p>',
    tags,
    attachments: [{ filename: 'notes.txt', size: 5 }],
  })
})

t.test('emails in doubt are found and released together', async t => {
  const sink = await openSink(t)
  const work = openWork(t, world, sink.url)
  const to = ['drop-post-dot-1@y.com', 'drop-post-dot-2@y.com']
  // One after the other, since they are listed in this order.
  const ids = await Array.fromAsync(to, one => acceptEmail(world, account, { to: one, subject: `To ${one}` }))
  await deliverEmails(work, ids)
  await owner.goto('/')
  await owner.click('a:text("Emails are in doubt")')
  await owner.waitForURL(/folder=in\+doubt/)
  t.strictSame(await owner.locator('tbody th').allTextContents(), [...to].reverse())
  t.strictSame(await findAccessibilityFaults(owner), [])
  t.strictSame(await owner.locator('tbody .badge.note').allInnerTexts(), ['! in doubt', '! in doubt'])
  await owner.goto(`/emails/${ids[0]}`)
  t.equal(await owner.innerText('.heading .badge.note'), '! in doubt')
  t.match(await owner.innerText('.why li'), 'drop-post-dot-1@y.com: ! in doubt It may or may not have arrived')
  await owner.goto('/emails?status=sent')
  t.equal(await owner.innerText('#filter-status option:checked'), 'in doubt')
  t.strictSame(await owner.locator('tbody .badge.note').allInnerTexts(), ['! in doubt', '! in doubt'])
  await owner.goto('/emails?folder=in+doubt')
  await owner.click('button:text("Mark as delivered")')
  await owner.waitForSelector('.notice:text("Select at least one email first.")')
  for (const box of await owner.locator('tbody input').all()) await box.check()
  await owner.click('button:text("Mark as delivered")')
  await owner.waitForSelector('.notice:text("Done for 2 of 2 emails.")')
  t.equal(await owner.locator('tbody tr').count(), 0)
  for (const id of ids) t.equal((await readEmail(world, account, id)).status, 'delivered')
})

t.test('a received email is unread until it is opened, and can be answered', async t => {
  const work = openWork(t, world)
  const html = '<p id="hello">Hello <img src="cid:pixel"></p>'
  const attachments = [{ filename: 'pixel.gif', content: Buffer.from(PIXEL, 'base64'), cid: 'pixel' }]
  const raw = await compose({ from: 'Ann <ann@y.com>', subject: 'A question', text: 'Hello', html, attachments })
  const id = await receive(work, account, raw)
  const isRead = async () => {
    const { rows } = await world.pool.pg.query(
      'SELECT read_at IS NOT NULL AS read FROM received_emails WHERE id = $1',
      [id],
    )
    return rows[0].read
  }
  const viewer = await dashboard.signIn('view_only')
  await viewer.goto('/received')
  await viewer.click('a:text("Ann")')
  await viewer.waitForSelector('h1:text("A question")')
  t.equal(await isRead(), false, 'a view-only member reads without marking')
  t.equal(await viewer.locator('main form[method=post]').count(), 0)

  await owner.goto('/received')
  t.strictSame(await findAccessibilityFaults(owner), [])
  t.match(await owner.textContent('tbody tr'), /Ann.*unread.*A question/s)
  const ahead = await owner.request.get(`/received/${id}`, {
    headers: { accept: 'text/html', 'x-sec-purpose': 'prefetch' },
  })
  t.strictSame([ahead.status(), await isRead()], [200, false], 'a prefetch by Turbo does not mark the email as read')
  await owner.evaluate(notePrefetches)
  await owner.hover('a:text("Ann")')
  await owner.hover('nav a:text("Domains")')
  t.strictSame(await owner.evaluate('prefetched'), ['/domains'], 'Turbo prefetches other pages but not this one')
  await owner.click('a:text("Ann")')
  await owner.waitForSelector('h1:text("A question")')
  t.equal(await isRead(), true)
  t.strictSame(await findAccessibilityFaults(owner), [])
  const image = owner.frameLocator('iframe').locator('#hello img')
  t.equal(await image.evaluate(widthOf), 1)
  t.match(await (await owner.request.get(`/api/emails/receiving/${id}/raw`)).text(), /^Subject: A question/m)

  await owner.keyboard.press('r')
  await owner.keyboard.type('Thank you')
  await owner.fill('#from', 'no address')
  await owner.click('button:text("Reply")')
  await owner.waitForSelector('[role=alert] a[href="#from"]')
  t.equal(await owner.inputValue('#text'), 'Thank you')
  await owner.fill('#from', `me@${account.domain}`)
  await owner.click('button:text("Reply")')
  await owner.waitForSelector('h1:text("Re: A question")')
  t.match(await owner.textContent('.facts'), /To *Ann <ann@y.com>/)

  await owner.goto(`/received/${id}`)
  t.match(await owner.textContent('section:has(h2:text("Thread"))'), /Re: A question.*sent/s)
  await owner.fill('#to', 'bob@y.com')
  await owner.fill('#note', 'See below')
  await owner.click('button:text("Forward")')
  await owner.waitForSelector('h1:text("Fwd: A question")')
  await owner.goto(`/received/${id}`)
  await owner.click('summary:text("Delete")')
  await owner.click('button:text("Delete")')
  await owner.waitForSelector('.notice:text("Email deleted.")')
  t.equal((await owner.request.get(`/received/${id}`, { headers: { accept: 'text/html' } })).status(), 404)
})

t.test('addresses are suppressed one by one and from a file, and removed', async t => {
  await owner.goto('/suppressions')
  await owner.fill('#email', 'no address')
  await owner
    .locator('form.fields[action="/suppressions"]')
    .evaluate(element => ((element as { noValidate: boolean }).noValidate = true))
  await owner.click('button:text("Suppress")')
  await owner.waitForSelector('[role=alert] a[href="#email"]')
  await owner.fill('#email', 'ann@y.com')
  await owner.click('button:text("Suppress")')
  await owner.waitForSelector('.notice:text("ann@y.com is suppressed.")')
  await owner.fill('#csv', 'email,reason\nbob@y.com,complaint\nann@y.com,manual\nnobody,manual')
  await owner.click('button:text("Import")')
  await owner.waitForSelector('h1:text("Import result")')
  t.match(await owner.textContent('main'), '3 records: 1 added, 1 already suppressed, 1 invalid.')
  t.match(await owner.textContent('tbody'), /4.*nobody.*must be an address/s)
  t.strictSame(await findAccessibilityFaults(owner), [])
  await owner.click('a:text("Back to suppressions")')
  await owner.selectOption('#filter-reason', 'complaint')
  await owner.click('button:text("Filter")')
  await owner.waitForURL(/reason=complaint/)
  t.strictSame(await owner.locator('tbody th').allTextContents(), ['bob@y.com'])
  await owner.click('button:text("Remove")')
  await owner.waitForSelector('.notice:text("Suppression removed.")')
  t.strictSame(await owner.locator('tbody th').allTextContents(), ['ann@y.com'])
  const file = await owner.request.get((await owner.getAttribute('a:text("Export")', 'href')) as string)
  t.match(await file.text(), /^email,reason.*ann@y\.com,manual/s)
})

t.test('a list shown with a refused form links to older rows', async t => {
  const emails = Array.from({ length: 60 }, (_, n) => `p${n}@y.com`)
  t.equal((await api.request('POST', '/api/suppressions/batch/add', { body: { emails } })).status, 200)
  await owner.goto('/suppressions')
  await owner.fill('#csv', 'name\nAnn')
  await owner.click('button:text("Import")')
  await owner.waitForSelector('[role=alert]')
  await owner.click('a:text("Older")')
  await owner.waitForURL(/\/suppressions\?after=/)
  t.equal(await owner.locator('tbody th:text("ann@y.com")').count(), 1)
})

t.test('a request in the log is shown with a curl command that repeats it', async t => {
  const body = { from: 'nobody', to: ["o'hara@y.com"], subject: 'x', html: 'x' }
  t.equal((await api.request('POST', '/api/emails', { body })).status, 422)
  t.equal((await api.request('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'ping' } })).status, 200)
  await waitUntil(
    async () => (await api.request('GET', '/api/logs?endpoint=/mcp')).body.data.length > 0,
    'both requests are in the log',
  )
  await owner.goto('/logs')
  await owner.selectOption('#filter-method', 'POST')
  await owner.selectOption('#filter-status', '4xx')
  await owner.click('button:text("Filter")')
  await owner.waitForSelector('tbody tr:only-child')
  await owner.click('a:text("POST /emails")')
  await owner.waitForSelector('h1:text("POST /emails")')
  t.match(await owner.textContent('section:has(h2:text("Response"))'), /"name": "validation_error"|"message"/)
  const command = (await owner.textContent('.copyable code')) as string
  t.match(command, `curl -X POST ${api.url}/api/emails`)
  const run = promisify(execFile)
  const { stdout } = await run('sh', ['-c', command.replace('mb_...', account.key)])
  t.match(JSON.parse(stdout), { statusCode: 422 })
})

t.test('no page had errors', async t => t.strictSame(faults, []))

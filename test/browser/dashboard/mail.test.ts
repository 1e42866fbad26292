import t from 'tap'
import { send_emails } from '#tasks/send_emails.ts'
import { startSink } from '#test/faults/support/sink.ts'
import { findBarriers } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { startForbidden } from '#test/support/http/fetching.ts'
import { acceptEmail, openWork, readEmail } from '#test/support/sending.ts'
import { waitUntil } from '#test/support/wait_until.ts'

t.setTimeout(300_000)
const dashboard = await openDashboard(t)
const { world, account, faults } = dashboard
const owner = await dashboard.signIn('owner')

/** A picture of one pixel. */
const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

/** All that a mail may try, with styles that it may have. */
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

t.test('a hostile email runs nothing and calls nobody, and keeps its styles', async t => {
  const { port, heard } = await startForbidden(t)
  const attachments = [{ filename: 'pixel.gif', content: PIXEL, content_id: 'pixel' }]
  const html = hostileHtml(`http://127.0.0.66:${port}`)
  const id = await acceptEmail(world, account, { html, attachments })
  t.strictSame(faults, [])
  await owner.goto(`/emails/${id}`)
  t.strictSame(await findBarriers(owner), [])
  const frame = owner.frameLocator('iframe[title="HTML of the email"]')
  t.strictSame(await frame.locator('#a').evaluate(styleOf), ['rgb(1, 2, 3)', '700'])
  t.equal(
    await frame.locator('#inline').evaluate(image => (image as unknown as { naturalWidth: number }).naturalWidth),
    1,
  )
  await frame.locator('#link').click()
  await frame.locator('#go').click()
  t.strictSame([heard(), owner.context().pages().length], [0, 1])
  t.equal(await owner.evaluate('globalThis.pwned'), undefined)
  t.notMatch(await owner.title(), /pwned/)
  // Opened by itself it has no more rights.
  await owner.goto(`/emails/${id}/preview`)
  t.strictSame(await owner.locator('#a').evaluate(styleOf), ['rgb(1, 2, 3)', '700'])
  t.equal(await owner.evaluate('self.origin'), 'null')
  t.strictSame([heard(), await owner.title()], [0, ''])
  t.ok(faults.length > 0, 'its policy has refused what it tried')
  await owner.goto(`/emails/${id}`)
  await owner.click('a:text("Show remote images")')
  await owner.waitForSelector('text=Remote images are shown this once.')
  await waitUntil(() => heard() > 0, 'images are loaded once they are asked for')
  t.equal(await owner.evaluate('globalThis.pwned'), undefined)
  faults.length = 0
})

t.test('emails in doubt are found, and released together', async t => {
  const sink = await startSink()
  t.teardown(() => sink.close())
  const work = openWork(t, world, sink.url)
  const to = ['drop-post-dot-1@y.com', 'drop-post-dot-2@y.com']
  const ids = await Promise.all(to.map(one => acceptEmail(world, account, { to: one, subject: `To ${one}` })))
  await send_emails({ email_ids: ids }, work)
  await work.sender.idle()
  await owner.goto('/emails')
  await owner.selectOption('#filter-folder', 'in doubt')
  await owner.click('button:text("Filter")')
  await owner.waitForURL(/folder=in\+doubt/)
  t.strictSame(await owner.locator('tbody th').allTextContents(), [...to].reverse())
  t.strictSame(await findBarriers(owner), [])
  await owner.click('button:text("Take for delivered")')
  await owner.waitForSelector('.notice:text("Select at least one email first.")')
  for (const box of await owner.locator('tbody input').all()) await box.check()
  await owner.click('button:text("Take for delivered")')
  await owner.waitForSelector('.notice:text("Done with 2 of 2 emails.")')
  t.equal(await owner.locator('tbody tr').count(), 0)
  for (const id of ids) t.equal((await readEmail(world, account, id)).status, 'delivered')
})

t.test('no page had a fault', async t => t.strictSame(faults, []))

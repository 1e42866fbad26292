import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { newMember, sessionOf } from '#test/support/members.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
const owner = await newMember(world, account.id, 'owner')
const headers = { cookie: `mailbrook=${await sessionOf(world, owner.id)}`, 'user-agent': 'browser' }

type Image = { cid: string; content: string | Buffer }

/** Receives an email with images; returns its HTML as the dashboard shows it. */
async function preview(html: string, images: Image[]): Promise<string> {
  const attachments = images.map((image, n) => ({ ...image, filename: `${n}.png`, contentType: 'image/png' }))
  const id = await receive(work, account, await compose({ html, attachments }))
  return (await fetch(`${api.url}/received/${id}/preview`, { headers })).text()
}

t.test('an image is shown in every place of the HTML', async t => {
  const shown = await preview('<img src="cid:a@x"><img src=\'CID:a@x\'><img src="cid:b@x">', [
    { cid: 'a@x', content: 'one' },
  ])
  const url = `data:image/png;base64,${Buffer.from('one').toString('base64')}`
  t.match(shown, `<img src="${url}"><img src='${url}'><img src="cid:b@x">`)
})

t.test('an image that a stranger shows thousands of times does not fill the memory', async t => {
  const shown = await preview('<img src="cid:a@x">'.repeat(2_000), [{ cid: 'a@x', content: Buffer.alloc(100_000) }])
  t.ok(shown.length < 100_000, `${shown.length} characters`)
})

t.test('hundreds of images that are not shown take linear time, whatever their ids', async t => {
  const images = Array.from({ length: 300 }, (_, n) => ({ cid: `${n}${'aaaacid:'.repeat(100)}aaaa`, content: 'x' }))
  const html = 'cid:aaaa'.repeat(100_000)
  let shown = ''
  const ms = await cpuMs(async () => {
    shown = await preview(html, images)
  })
  t.match(shown, 'cid:aaaacid:aaaa')
  t.ok(ms < 6_000, `${ms} ms`)
})

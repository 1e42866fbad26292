import t from 'tap'
import { openDashboard } from '#test/support/dashboard.ts'

const dashboard = await openDashboard(t)
const { account, api } = dashboard
const owner = await dashboard.signIn('owner')
const draft = { from: `News <news@${account.domain}>`, name: 'March', subject: 'March', html: '<p>Hello</p>' }

const cases = [
  ['/campaigns', { ...draft, audience_id: account.domain_id }, 'Test email queued.'],
  ['/templates', draft, 'Test email to ann@y.com queued.'],
] as const
for (const [path, body, notice] of cases) {
  t.test(`${path}/:id can be saved after a test email to an invalid address`, async t => {
    const { id } = (await api.request('POST', `/api${path}`, { body })).body
    await owner.goto(`${path}/${id}`)
    await owner.fill('main #subject', 'April')
    await owner.fill('#to', 'ann')
    await owner.click('button:text("Save and send a test")')
    await owner.waitForSelector('#problem')
    t.match(await owner.textContent('#problem'), '"ann"')
    await owner.fill('#to', 'ann@y.com')
    await owner.fill('main #subject', 'May')
    await owner.click('button:text("Save and send a test")')
    await owner.waitForSelector(`.notice:text-is("${notice}")`)
    t.equal(JSON.parse((await api.request('GET', `/api${path}/${id}`)).text).subject, 'May')
  })
}

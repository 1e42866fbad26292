import t from 'tap'
import { openDashboard } from '#test/support/dashboard.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { startWorker } from '#workers/worker.ts'

const dashboard = await openDashboard(t)
const { world, account, api } = dashboard
const worker = await startWorker(world)
t.teardown(() => worker.stop())
const post = async (path: string, body: object) =>
  (await api.request('POST', `/api${path}`, { body })).body.id as string

t.test('the report of a running A/B test says when it will be decided, not that it is', async t => {
  for (const name of ['ann', 'bob', 'cat', 'dan', 'eve', 'fay', 'gus', 'hal']) {
    await post('/contacts', { email: `${name}@y.com`, domain: account.domain })
  }
  // A test ends without a decision if all recipients happen to be in it, which at 10 % is one in 100 million.
  const ab_test = { variants: [{ subject: 'A' }, { subject: 'B' }], test_percentage: 10, wait_hours: 4 }
  const content = { from: `News <news@${account.domain}>`, subject: 'March', html: '<p>Hello</p>' }
  const id = await post('/campaigns', { ...content, audience_id: account.domain_id, ab_test })
  await post(`/campaigns/${id}/send`, {})
  const isTesting = async () =>
    JSON.parse((await api.request('GET', `/api/campaigns/${id}/ab`)).text).decide_at !== null
  await waitUntil(isTesting, 'the test has begun')
  const page = await dashboard.signIn('view_only')
  await page.goto(`/campaigns/${id}`)
  const terms = await page.locator('main dt').allTextContents()
  t.strictSame(
    terms.filter(term => /decided/i.test(term)),
    ['To be decided'],
  )
})

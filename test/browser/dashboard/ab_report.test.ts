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

/** Returns the texts of bars that are cut off, or whose value is not after its name. */
const MISPLACED = `Array.from(document.querySelectorAll('.bars bdi')).filter(name => {
  const range = document.createRange()
  range.selectNodeContents(name.nextSibling)
  const [value, end] = [range, name].map(one => Array.from(one.getClientRects()).at(-1))
  const isAfter = value.top > end.top + 5 || value.left >= end.right - 1
  return value.right > innerWidth || name.getBoundingClientRect().right > innerWidth || !isAfter
}).map(name => name.parentElement.innerText)`

t.test('the report of a running A/B test says when it will be decided, and asks before it is', async t => {
  for (const name of ['ann', 'bob', 'cat', 'dan', 'eve', 'fay', 'gus', 'hal']) {
    await post('/contacts', { email: `${name}@y.com`, domain: account.domain })
  }
  // A test ends without a decision if all recipients happen to be in it, which at 10 % is one in 100 million.
  const ab_test = {
    variants: [{ subject: 'News of March, with all that is new' }, { subject: 'שלום', preview_text: 'Read this' }],
    test_percentage: 10,
    wait_hours: 4,
  }
  const template_id = await post('/templates', { name: 'March', html: '<p>Hello {{first_name|friend}}</p>' })
  await post(`/templates/${template_id}/publish`, {})
  const content = { from: `News <news@${account.domain}>`, subject: 'March', template_id }
  const id = await post('/campaigns', { ...content, audience_id: account.domain_id, ab_test })
  await post(`/campaigns/${id}/send`, {})
  const isTesting = async () =>
    JSON.parse((await api.request('GET', `/api/campaigns/${id}/ab`)).text).decide_at !== null
  await waitUntil(isTesting, 'the test has begun')
  const page = await dashboard.signIn('owner', { viewport: { width: 320, height: 800 } })
  await page.goto(`/campaigns/${id}`)
  const terms = await page.locator('main dt').allTextContents()
  t.strictSame(
    terms.filter(term => /decided/i.test(term)),
    ['To be decided'],
  )

  t.match(await page.innerText('main'), 'News of March, with all that is new: 0%')
  t.strictSame(await page.evaluate<string[]>(MISPLACED), [])
  await api.request('PATCH', `/api/templates/${template_id}`, { body: { html: '<p>Changed</p>' } })
  await post(`/templates/${template_id}/publish`, {})
  const textOf = (title: string) => page.frameLocator(`iframe[title="${title}"]`).locator('body').innerText()
  t.match(await textOf('Content of variant A'), /^Subject: News of March.*Hello friend.*Unsubscribe/s, 'as it was sent')
  await page.click('summary:text-is("Variant B")')
  t.match(await textOf('Content of variant B'), /^Subject: שלום.*Hello friend/s)
  await page.click('details:has(summary:text-is("Variant B")) summary:text-is("Text")')
  t.match(await textOf('Plain text of variant B'), /Hello friend/)
  const unknown = await page.request.get(`/campaigns/${id}/preview?variant=%00`, { headers: { accept: 'text/html' } })
  t.match(await unknown.text(), 'News of March', 'an unknown variant is the first one')
  t.match(await page.innerText('details:has(summary:text-is("Variant B")) dl'), /Preview text\s+Read this/)

  await page.click('summary:text-is("Choose variant B")')
  await page.waitForSelector('details[open] p:text("It is sent to all recipients who are not in the test.")')
  t.match(await page.innerText('main'), 'none yet', 'nothing is chosen before the member confirms it')
  await page.click('button:text-is("Choose variant B")')
  await page.waitForSelector('.notice:text("Winner chosen.")')
  await page.click('summary:text-is("Cancel")')
  await page.click('button:text-is("Cancel")')
  await page.waitForSelector('.notice:text("Campaign canceled.")')
})

import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
await addContacts(world, account, ['ada@b.com', 'bob@b.com', 'cat@b.com'])

const ask = (method: string, path: string, body?: object) =>
  api.request(method, `/api/campaigns${path}`, body === undefined ? {} : { body })
const TWO = [{ subject: 'Red' }, { key: 'blue', subject: 'Blue', preview_text: '' }]
const NOTHING = { subject: null, preview_text: null, from: null, html: null, text: null }

t.test('an A/B test is stored with defaults; null or `enabled`: false removes it', async t => {
  const id = await createDraft(api, account, { ab_test: { variants: TWO } })
  const ab_test = {
    ...{ enabled: true, test_percentage: 20, winner_metric: 'open_rate', wait_hours: 4 },
    variants: [
      { ...NOTHING, key: 'A', subject: 'Red' },
      { ...NOTHING, key: 'blue', subject: 'Blue' },
    ],
  }
  shows(t, (await ask('GET', `/${id}`)).body, { ab_test })
  shows(t, (await ask('POST', `/${id}/duplicate`, {})).body, { ab_test })
  await ask('PATCH', `/${id}`, { name: 'April' })
  shows(t, (await ask('GET', `/${id}`)).body, { name: 'April', ab_test })
  for (const none of [null, { enabled: false }]) {
    await ask('PATCH', `/${id}`, { ab_test: { variants: TWO } })
    await ask('PATCH', `/${id}`, { ab_test: none })
    shows(t, (await ask('GET', `/${id}`)).body, { ab_test: null })
  }
})

t.test('an invalid A/B test is refused with its field', async t => {
  const from = `News <news@${account.domain}>`
  for (const [ab_test, message] of [
    [{}, 'Missing `ab_test.variants` field.'],
    [{ variants: [{}] }, '`ab_test.variants` must have 2 to 5 variants.'],
    [{ variants: Array(6).fill({}) }, '`ab_test.variants` must have 2 to 5 variants.'],
    [{ variants: [{ key: 'B' }, {}] }, '`ab_test.variants` must have different keys.'],
    [{ variants: [{ key: 'a b' }, {}] }, '`ab_test.variants[0].key` must have 1 to 20 letters, digits, `_` or `-`.'],
    [{ variants: TWO, test_percentage: 0 }, '`ab_test.test_percentage` must be at least 1.'],
    [{ variants: TWO, wait_hours: 169 }, '`ab_test.wait_hours` must be at most 168.'],
    [{ variants: [{}, { from: 'a@b.com' }] }, '`ab_test.variants[1].from` must be at the domain of `from`.'],
  ] as const) {
    const { status, body } = await ask('POST', '', { from, subject: 'x', html: 'x', ab_test })
    t.strictSame([status, body.message], [422, message])
  }
})

t.test('GET /campaigns/:id/ab is pending for a draft, and refused without a test', async t => {
  const id = await createDraft(api, account, { ab_test: { variants: TWO } })
  const figures = { sent: 0, delivered: 0, unique_opened: 0, unique_clicked: 0, open_rate: 0, click_rate: 0 }
  t.strictSame((await ask('GET', `/${id}/ab`)).body as object, {
    ...{ object: 'campaign_ab', campaign_id: id, status: 'pending', winner_metric: 'open_rate', test_percentage: 20 },
    ...{ wait_hours: 4, decide_at: null, winner: null, decided_at: null, decided_by: null },
    ...{ confidence: 0, significant: false },
    variants: [
      { key: 'A', subject: 'Red', ...figures },
      { key: 'blue', subject: 'Blue', ...figures },
    ],
  })
  const plain = await createDraft(api, account)
  const none = { status: 422, body: { message: 'The campaign has no A/B test.' } }
  shows(t, await ask('GET', `/${plain}/ab`), none)
  shows(t, await ask('POST', `/${plain}/ab/winner`, { variant: 'A' }), none)
  shows(t, await ask('POST', `/${id}/ab/winner`, { variant: 'A' }), {
    status: 422,
    body: { message: 'The campaign is draft: its A/B test does not wait for a winner.' },
  })
})

t.test('an A/B test gets a warning if what it compares is not tracked', async t => {
  const warningOf = async (winner_metric: string, fields: object = {}) => {
    const id = await createDraft(api, account, { ab_test: { variants: TWO, winner_metric }, ...fields })
    const { warnings } = (await ask('POST', `/${id}/send`, { scheduled_at: 'in 1 hour' })).body as unknown as {
      warnings: string[]
    }
    return warnings.find(text => text.includes('not tracked'))
  }
  t.match(
    await warningOf('open_rate', { track_clicks: true }),
    /^Opens are not tracked, so the A\/B test cannot compare/,
  )
  t.match(
    await warningOf('click_rate', { track_opens: true }),
    /^Clicks are not tracked, so the A\/B test cannot compare/,
  )
  t.equal(await warningOf('open_rate', { track_opens: true }), undefined)
  t.equal(await warningOf('click_rate', { track_clicks: true }), undefined)
  const setDomain = (body: object) => api.request('PATCH', `/api/domains/${account.domain_id}`, { body })
  await setDomain({ open_tracking: true })
  t.equal(await warningOf('open_rate'), undefined, 'as the domain says')
  t.match(await warningOf('open_rate', { track_opens: false }), /^Opens are not tracked/)
  await setDomain({ open_tracking: false })
})

t.test('a small A/B test gets a warning; fewer recipients than variants are refused', async t => {
  const id = await createDraft(api, account, { ab_test: { variants: TWO } })
  const sent = await ask('POST', `/${id}/send`, {})
  shows(t, sent, { status: 200, body: { status: 'testing' } })
  const { warnings } = sent.body as unknown as { warnings: string[] }
  t.strictSame(
    warnings.filter(text => text.startsWith('Each variant')),
    ['Each variant is tried on about 0 contacts. With fewer than 1,000, the winner may be better by chance.'],
  )
  shows(t, await ask('POST', `/${id}/ab/winner`, { variant: 'C' }), {
    status: 422,
    body: { message: '`variant` must be one of `A`, `blue`.' },
  })
  shows(t, await ask('POST', `/${id}/ab/winner`, { variant: 'blue' }), {
    status: 200,
    body: { object: 'campaign_ab', campaign_id: id, status: 'decided', winner: 'blue', decided_by: 'manual' },
  })
  shows(t, (await ask('GET', `/${id}/ab`)).body, { status: 'decided', winner: 'blue', decided_by: 'manual' })
  shows(t, await ask('POST', `/${id}/ab/winner`, { variant: 'A' }), {
    status: 422,
    body: { message: 'The campaign is queued: its A/B test does not wait for a winner.' },
  })
  const many = await createDraft(api, account, { ab_test: { variants: [...TWO, {}, {}, {}] } })
  shows(t, await ask('POST', `/${many}/send`, {}), {
    status: 422,
    body: { message: 'The A/B test has 5 variants, and only 3 contacts would get the campaign.' },
  })
})

t.test('POST /campaigns/:id/test sends every variant to each address', async t => {
  const id = await createDraft(api, account, { ab_test: { variants: TWO } })
  const { status, body } = await ask('POST', `/${id}/test`, { to: ['ada@b.com', 'zoe@b.com'] })
  t.equal(status, 200)
  const { emails } = body as unknown as { emails: { id: string; to: string; variant: string }[] }
  t.strictSame(
    emails.map(({ to, variant }) => [to, variant]),
    [
      ['ada@b.com', 'A'],
      ['ada@b.com', 'blue'],
      ['zoe@b.com', 'A'],
      ['zoe@b.com', 'blue'],
    ],
  )
  const subjects = await Promise.all(
    emails.map(
      async email => (await api.request('GET', `/api/emails/${email.id}`)).body as unknown as { subject: string },
    ),
  )
  t.strictSame(
    subjects.map(({ subject }) => subject),
    ['Red', 'Blue', 'Red', 'Blue'],
  )
})

t.test('variants that differ in their subject alone are read once', async t => {
  const html = '<a href="https://acme.com/x">x</a>'.repeat(30_000)
  const cpuOf = async (ab_test: object | null) => {
    const id = await createDraft(api, account, { html, ab_test })
    return cpuMs(async () => {
      const { status, text } = await api.request('POST', `/api/campaigns/${id}/send`, {
        body: { scheduled_at: 'in 2 hours' },
      })
      t.equal(status, 200, text)
    })
  }
  await cpuOf(null)
  const alone = await cpuOf(null)
  await addContacts(world, account, ['dan@b.com', 'eve@b.com'])
  const five = await cpuOf({ variants: ['A', 'B', 'C', 'D', 'E'].map(subject => ({ subject })) })
  t.ok(five < 2.5 * alone, `${five} ms for five variants, ${alone} ms for one`)
})

import { globSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import type { Role } from '#lib/members/roles.ts'
import manifest from '#package.json' with { type: 'json' }
import { startApi } from '#test/support/api.ts'
import { addRecipient, countFigures } from '#test/support/campaign_rows.ts'
import { addContacts, createDraft, queueCampaign } from '#test/support/campaigns.ts'
import { newMember, sessionOf } from '#test/support/members.ts'
import { ROOT } from '#test/support/root.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { pg } = world.pool

/** Signs in a new member, who opens pages and submits forms as a browser does. */
async function enter(role: Role, account_id = account.id) {
  const member = await newMember(world, account_id, role)
  const headers = {
    ...{ cookie: `mailbrook=${await sessionOf(world, member.id)}`, 'sec-fetch-site': 'same-origin' },
    ...{ accept: 'text/html', 'user-agent': 'browser' },
  }
  return {
    ...member,
    headers,
    show: async (path: string) => (await fetch(api.url + path, { headers, redirect: 'manual' })).text(),
    submit: async (path: string, fields: Record<string, string> = {}) => {
      const body = new URLSearchParams(fields)
      return (await fetch(api.url + path, { method: 'POST', headers, body, redirect: 'manual' })).status
    },
  }
}

const owner = await enter('owner')
const viewer = await enter('view_only')

t.test('the page of a campaign names its audience, segment, topic and template', async t => {
  const create = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body.id
  const ids = {
    segment_id: await create('/segments', { name: 'Pros & friends', domain: account.domain }),
    topic_id: await create('/topics', { name: 'Offers', default_subscription: 'opt_in' }),
    template_id: await create('/templates', { name: 'Spring', subject: 'S', html: '<p>x</p>' }),
  }
  const page = await viewer.show(`/campaigns/${await createDraft(api, account, { ...ids, html: null })}`)
  const facts: [title: string, path: string, name: string][] = [
    ['Audience', `/audiences/${account.domain_id}`, 'Default'],
    ['Segment', `/segments/${ids.segment_id}`, 'Pros &amp; friends'],
    ['Topic', `/topics/${ids.topic_id}`, 'Offers'],
    ['Template', `/templates/${ids.template_id}`, 'Spring'],
  ]
  for (const [title, path, name] of facts) {
    t.ok(page.includes(`<dt>${title}</dt><dd><a href="${path}">${name}</a></dd>`), title)
  }
})

t.test('a campaign can be retried only if emails have failed', async t => {
  const { campaign_id } = await queueCampaign(world, account)
  await pg.query(`UPDATE campaigns SET status = 'sent' WHERE id = $1`, [campaign_id])
  const path = `/campaigns/${campaign_id}`
  const retry = `action="${path}/retry"`
  t.notMatch(await owner.show(path), retry)
  await countFigures(world, account, campaign_id, { recipients: 1, failed: 1 })
  t.match(await owner.show(path), retry)
  t.notMatch(await viewer.show(path), retry)
  await pg.query(`UPDATE campaigns SET status = 'canceled' WHERE id = $1`, [campaign_id])
  t.notMatch(await owner.show(path), retry, 'a canceled campaign cannot be retried')
})

t.test('all emails in doubt of a campaign are settled by a button of its page', async t => {
  const { campaign_id } = await queueCampaign(world, account)
  const path = `/campaigns/${campaign_id}`
  t.notMatch(await owner.show(path), `${path}/in-doubt`)
  const email = { status: 'queued', state: 'in_doubt' }
  const email_ids: unknown[] = []
  for (const address of ['ann@b.com', 'bob@b.com']) {
    const [contact_id = ''] = await addContacts(world, account, [address])
    email_ids.push(await addRecipient(world, account, campaign_id, [contact_id, address], { state: 'm', email }))
  }
  await countFigures(world, account, campaign_id, { recipients: 2, in_doubt: 2 })
  t.notMatch(await viewer.show(path), `${path}/in-doubt`)
  t.match(await owner.show(path), `action="${path}/in-doubt"`)
  t.equal(await owner.submit(`${path}/in-doubt`, { action: 'release' }), 303)
  for (const id of email_ids) t.equal((await api.request('GET', `/api/emails/${id}`)).body.status, 'delivered')
  t.notMatch(await owner.show(path), `${path}/in-doubt`)
})

t.test('all runs of a campaign can be reached, and each has its own hours', async t => {
  const id = await createDraft(api, account, { recurrence: 'daily' })
  const runs = 120
  await pg.query(
    `INSERT INTO campaign_runs (account_id, campaign_id, run, created_at, finished_at, outcome)
     SELECT $1, $2, n, date_trunc('hour', now()) - make_interval(days => $3 - n), now(), 'sent' FROM generate_series(1, $3::integer) n`,
    [account.id, id, runs],
  )
  await pg.query(`UPDATE campaigns SET status = 'scheduled', started_at = now() WHERE id = $1`, [id])
  const found: string[] = []
  for (let path: string | undefined = `/campaigns/${id}`; path; ) {
    const page = await owner.show(path)
    found.push(...[...page.matchAll(/\?run=(\d+)">/g)].map(([, run = '']) => run))
    path = /rel="next" href="([^"]+)"/.exec(page)?.[1]
  }
  t.strictSame(
    found,
    Array.from({ length: runs }, (_, n) => String(runs - n)),
  )
  const hour = new Date(Date.now() - 110 * 24 * 60 * 60 * 1_000).toISOString().slice(0, 13).replace('T', ' ')
  t.match(await owner.show(`/campaigns/${id}?run=10`), new RegExp(`by hour.*?<p class="axis"><span>${hour}:00`, 's'))
})

t.test('the overview shows the quotas as bars', async t => {
  const own = await newAccount(world)
  const member = await enter('view_only', own.id)
  t.match(await member.show('/'), '<dt>Quota, last 24 hours</dt><dd>0, no limit</dd>')
  await pg.query(`INSERT INTO plans (name, emails_per_day, emails_per_month) VALUES ('small', 4, 1000)`)
  await pg.query(`UPDATE accounts SET plan = 'small' WHERE id = $1`, [own.id])
  for (const to of ['ann@b.com', 'bob@b.com', 'eve@b.com', 'joe@b.com']) {
    const body = { from: `a@${own.domain}`, to: [to], subject: 'S', text: 'x' }
    t.equal((await api.request('POST', '/api/emails', { key: own.key, body })).status, 200)
  }
  const page = await member.show('/')
  const [, figure = ''] = /<figcaption>Quotas of emails<\/figcaption>(.*?)<\/figure>/s.exec(page) ?? []
  t.strictSame(
    [...figure.matchAll(/<li><bdi>(.*?)<\/bdi>(.*)/g)].map(([, name, text]) => `${name}${text}`),
    ['Last 24 hours: 4 of 4', 'Last 30 days: 4 of 1,000'],
  )
  const bars = [...figure.matchAll(/class="(good|wait|bad)"[^>]* width="(.*?)"/g)]
  t.strictSame(
    bars.map(([, ...parts]) => parts),
    [
      ['bad', '100.00%'],
      ['good', '0.40%'],
    ],
  )
})

t.test('the overview lists a few unverified domains, and problems of the server only for operators', async t => {
  const own = await newAccount(world)
  const member = await enter('owner', own.id)
  for (let n = 0; n < 8; n++) {
    const body = { name: `d${n}.${own.domain}` }
    t.equal((await api.request('POST', '/api/domains', { key: own.key, body })).status, 201)
  }
  const itemsOf = (page: string) => /<h2>Needs attention<\/h2>(.*?)<\/section>/s.exec(page)?.[1] ?? ''
  const items = itemsOf(await member.show('/'))
  t.strictSame(items.match(/cannot send yet/g)?.length, 5)
  t.match(items, '<a href="/domains">Domains</a>: 3 more')
  t.notMatch(items, '/operator')
  await pg.query('UPDATE members SET is_operator = true WHERE id = $1', [member.id])
  t.match(itemsOf(await member.show('/')), '<a href="/operator">Server, workers</a>: None is alive')
})

t.test('the page of operators names the version and the newest migration', async t => {
  const member = await enter('owner')
  await pg.query('UPDATE members SET is_operator = true WHERE id = $1', [member.id])
  const page = await member.show('/operator')
  const [newest = ''] = globSync('sql/migrations/*.sql', { cwd: ROOT }).sort().reverse()
  t.match(page, `<dt>Version</dt><dd>${manifest.version}</dd>`)
  t.match(page, `<dt>Newest migration</dt><dd><code>${basename(newest)}</code>, applied <time`)
})

t.test('a member signs another one out everywhere, and admins cannot sign out owners', async t => {
  const own = await newAccount(world)
  const [first, second, admin] = [
    await enter('owner', own.id),
    await enter('owner', own.id),
    await enter('admin', own.id),
  ]
  const other = await sessionOf(world, admin.id)
  const isSignedIn = async (token: string) =>
    (await fetch(`${api.url}/api/members`, { headers: { cookie: `mailbrook=${token}` } })).status === 200
  const path = `/members/${admin.id}/sign-out`
  t.match(await first.show(`/members/${admin.id}`), `action="${path}"`)
  t.notMatch(await first.show(`/members/${first.id}`), 'Sign out everywhere')
  t.equal(await admin.submit(`/members/${second.id}/sign-out`), 422)
  t.match(await second.show('/'), '<h1>Overview</h1>')
  t.equal(await owner.submit(path), 404, 'owners of other accounts cannot do it')
  t.equal(await isSignedIn(other), true)
  t.equal(await first.submit(path), 303)
  t.equal(await isSignedIn(other), false)
  t.equal(await admin.show('/'), '', 'leads to the page to sign in')
  t.match(await first.show('/audit-log'), '<code>signOutMember</code>')
})

t.test('browsers keep no page, show none in a frame, and run only scripts of this server', async t => {
  for (const path of ['/', '/login']) {
    const { headers } = await fetch(api.url + path, { headers: { ...owner.headers } })
    const policy = headers.get('content-security-policy')?.split('; ')
    t.strictSame(
      policy?.filter(part => /^(?:default|script|form|base|frame-anc)/.test(part)),
      [
        ...[
          "default-src 'none'",
          "script-src 'self'",
          "form-action 'self'",
          "base-uri 'none'",
          "frame-ancestors 'none'",
        ],
      ],
    )
    const others = ['cache-control', 'referrer-policy', 'x-content-type-options'].map(name => headers.get(name))
    t.strictSame(others, ['no-store', 'same-origin', 'nosniff'], path)
  }
})

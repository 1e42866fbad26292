import t from 'tap'
import { recordHits } from '#sql/tracking/hits.ts'
import { shows } from '#test/support/shows.ts'
import {
  makeCampaign,
  makeHit,
  makeTracked,
  readFigures,
  readHits,
  type TrackedCampaign,
  type TrackedEmail,
} from '#test/support/tracking.ts'
import { readState, readWebhookEvents } from '#test/support/unsubscribing.ts'
import { insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const { pg } = world.pool

const readRecipient = async ({ email_id }: TrackedEmail) =>
  (
    await pg.query(
      `SELECT opens, clicks, machine_opens, machine_clicks, first_opened_at, first_clicked_at FROM campaign_recipients
       WHERE email_id = $1`,
      [email_id],
    )
  ).rows[0]
const readEngagement = async ({ recipient }: TrackedEmail) =>
  (
    await pg.query(
      `SELECT e.* FROM contact_engagement e JOIN contacts c ON c.id = e.contact_id WHERE c.email = $1 AND c.account_id = $2`,
      [recipient, account.id],
    )
  ).rows[0]
const readLinks = async (campaign: TrackedCampaign) =>
  (
    await pg.query(
      `SELECT link, clicks::integer, unique_clicks::integer FROM campaign_links WHERE campaign_id = $1 AND clicks <> 0
       ORDER BY link`,
      [campaign.id],
    )
  ).rows
const readLastEvent = async ({ email_id }: TrackedEmail): Promise<string> =>
  (await pg.query('SELECT last_event FROM emails WHERE id = $1', [email_id])).rows[0].last_event
const readEvents = async ({ email_id }: TrackedEmail) =>
  (
    await pg.query(
      `SELECT type, data ->> 'class' AS class, (data ->> 'link_index')::integer AS link FROM email_events
       WHERE email_id = $1 AND type <> 'delivered' ORDER BY id`,
      [email_id],
    )
  ).rows

t.test('hits of a campaign update its figures and those of links, recipients and contacts', async t => {
  const campaign = await makeCampaign(world, account)
  const email = await makeTracked(world, account, { campaign })
  const [first, second] = [makeHit(email, null, -20_000), makeHit(email, null, -10_000)]
  const click = makeHit(email, 1, -5_000)
  await recordHits(world.pool, [first])
  shows(t, await readFigures(world, campaign), { opened: 1, unique_opened: 1 })
  await recordHits(world.pool, [
    second,
    click,
    makeHit(email, null, 0, { class: 'mpp' }),
    makeHit(email, 0, 0, { class: 'machine' }),
  ])
  t.strictSame(await readFigures(world, campaign), {
    ...{ clicked: 1, opened: 2, unique_clicked: 1, unique_opened: 1 },
  })
  const [opened_at, clicked_at] = [first.created_at, click.created_at]
  t.strictSame(await readRecipient(email), {
    ...{
      opens: 2,
      clicks: 1,
      machine_opens: 1,
      machine_clicks: 1,
      first_opened_at: opened_at,
      first_clicked_at: clicked_at,
    },
  })
  shows(t, await readEngagement(email), {
    ...{ opened_count: 1, clicked_count: 1, last_opened_at: clicked_at, last_clicked_at: clicked_at },
  })
  t.strictSame(await readLinks(campaign), [{ link: 1, clicks: 1, unique_clicks: 1 }])
})

t.test('a human click counts as an open too', async t => {
  const campaign = await makeCampaign(world, account)
  const email = await makeTracked(world, account, { campaign })
  const click = makeHit(email, 0, -5_000)
  await recordHits(world.pool, [click, makeHit(email, null, -9_000, { class: 'machine' })])
  const figures = { clicked: 1, opened: 1, unique_clicked: 1, unique_opened: 1 }
  t.strictSame(await readFigures(world, campaign), figures)
  shows(t, await readRecipient(email), { opens: 1, first_opened_at: click.created_at })
  await recordHits(world.pool, [makeHit(email, null)])
  t.strictSame(await readFigures(world, campaign), figures, 'the open that was implied is not counted twice')
})

t.test('Apple Mail Privacy Protection alone does not count as an open', async t => {
  const campaign = await makeCampaign(world, account)
  const email = await makeTracked(world, account, { campaign })
  await recordHits(world.pool, [makeHit(email, null, 0, { class: 'mpp' })])
  t.strictSame(await readFigures(world, campaign), { mpp_opened: 1 })
  shows(t, await readRecipient(email), { opens: 0, machine_opens: 1, first_opened_at: null })
  t.equal(await readLastEvent(email), 'delivered')
  t.equal(await readEngagement(email), undefined)
})

t.test('a hit recorded twice counts once', async t => {
  const own = await newAccount(world)
  await insertUnchecked(world, own.id, 'https://hooks.acme.com/x')
  const campaign = await makeCampaign(world, own)
  const email = await makeTracked(world, own, { campaign })
  const hits = [makeHit(email, null), makeHit(email, 0), makeHit(email, 0)]
  await recordHits(world.pool, [...hits, ...hits])
  const figures = await readFigures(world, campaign)
  shows(t, figures, { opened: 1, clicked: 2, unique_clicked: 1 })
  const state = await readState(world, own)
  await recordHits(world.pool, hits)
  t.strictSame(await readFigures(world, campaign), figures)
  t.strictSame(await readState(world, own), state)
})

t.test('a click before or within 3 seconds of the delivery is by a machine', async t => {
  const campaign = await makeCampaign(world, account)
  const late = await makeTracked(world, account, { campaign, delivered_ago: 10 })
  await recordHits(world.pool, [makeHit(late, 0, -8_000), makeHit(late, null, -8_000), makeHit(late, 1, -6_000)])
  t.strictSame(
    (await readHits(world, late)).map(hit => [hit.type, hit.class, hit.rule]),
    [
      ['click', 'machine', 'early'],
      ['open', 'machine', 'beside_clicks'],
      ['click', 'human', 'default'],
    ],
  )
  const unsent = await makeTracked(world, account, { campaign, delivered_ago: null })
  await pg.query(
    `UPDATE deliveries SET state = 'sending', phase = 'dot', lease_owner = id, lease_until = now() WHERE id = $1`,
    [unsent.delivery_id],
  )
  await recordHits(world.pool, [makeHit(unsent, 0)])
  shows(t, await readHits(world, unsent), [{ class: 'machine', rule: 'early' }])
  for (const state of ['queued', 'failed']) {
    const refused = await makeTracked(world, account, { campaign, delivered_ago: null })
    await pg.query('UPDATE deliveries SET state = $2, attempt = 1, next_at = $3 WHERE id = $1', [
      ...[refused.delivery_id, state, state === 'queued' ? new Date() : null],
    ])
    await recordHits(world.pool, [makeHit(refused, 0)])
    shows(t, await readHits(world, refused), [{ class: 'machine', rule: 'early' }], state)
  }
})

t.test('a hit from a suspected mail filter is by a machine for 10 minutes after the delivery', async t => {
  const email = await makeTracked(world, account, { delivered_ago: 900 })
  const suspect = 'mimecast_network'
  await recordHits(world.pool, [
    makeHit(email, null, -301_000, { suspect }),
    makeHit(email, 0, -302_000, { suspect }),
    makeHit(email, null, -303_000),
    makeHit(email, 0, -299_000, { suspect }),
    makeHit(email, null, -298_000, { suspect, class: 'machine', rule: 'head' }),
    makeHit(email, null, 0, { suspect: null }),
  ])
  shows(
    t,
    (await readHits(world, email)).map(({ type, class: name, rule }) => `${type} ${name} ${rule}`),
    [
      ...['open human default', `click machine ${suspect}`, `open machine ${suspect}`],
      ...['click human default', 'open machine head', 'open human default'],
    ],
  )
})

t.test('a burst of clicks becomes machine clicks, and its counts are taken back', async t => {
  const own = await newAccount(world)
  await insertUnchecked(world, own.id, 'https://hooks.acme.com/x')
  const campaign = await makeCampaign(world, own)
  const email = await makeTracked(world, own, { campaign, links: 8 })
  await recordHits(world.pool, [makeHit(email, 0, -40_000), makeHit(email, 1, -38_000)])
  t.strictSame(await readFigures(world, campaign), { clicked: 2, opened: 1, unique_clicked: 1, unique_opened: 1 })
  t.equal(await readLastEvent(email), 'clicked')
  await recordHits(world.pool, [makeHit(email, 2, -36_000), makeHit(email, null, -36_000, { class: 'machine' })])
  t.strictSame(await readFigures(world, campaign), { machine_clicked: 1, machine_opened: 1 })
  t.strictSame(
    (await readHits(world, email)).map(({ class: name, rule }) => [name, rule]),
    [...Array(3).fill(['machine', 'burst']), ['machine', 'default']],
  )
  shows(t, await readRecipient(email), {
    opens: 0,
    clicks: 0,
    machine_clicks: 3,
    first_opened_at: null,
    first_clicked_at: null,
  })
  t.strictSame(await readLinks(campaign), [])
  t.equal(await readLastEvent(email), 'delivered')
  shows(t, (await readEvents(email)).map(event => `${event.type} ${event.link} ${event.class}`).sort(), [
    ...['clicked 0 machine', 'clicked 1 machine', 'clicked 2 machine', 'opened null machine'],
  ])

  // A person clicks later.
  await recordHits(world.pool, [makeHit(email, 0)])
  t.strictSame(await readFigures(world, campaign), {
    ...{ clicked: 1, opened: 1, unique_clicked: 1, unique_opened: 1 },
  })
  t.equal(await readLastEvent(email), 'clicked')
  const told = (await readWebhookEvents(world, own)) as {
    type: string
    data: { click?: { class: string; link: string } }
  }[]
  t.strictSame(
    told.flatMap(({ type, data: { click } }) =>
      type === 'email.clicked' ? `${click?.class} ${click?.link.at(-3)}` : [],
    ),
    ['human 0', 'human 1', 'machine 0', 'machine 1', 'machine 2', 'human 0'],
  )
})

t.test('a burst takes back only the events of its own links', async t => {
  const email = await makeTracked(world, account, { links: 4, delivered_ago: 3_600 })
  await recordHits(world.pool, [makeHit(email, 0, -600_000)])
  for (const link of [1, 2, 3]) await recordHits(world.pool, [makeHit(email, link, link * 500 - 20_000)])
  const clicks = (await readEvents(email)).filter(({ type }) => type === 'clicked')
  t.strictSame(
    clicks.toSorted((a, b) => a.link - b.link).map(event => [event.link, event.class]),
    [0, 1, 2, 3].map(link => [link, link === 0 ? 'human' : 'machine']),
  )
})

t.test('a click counts for the link of its variant, and not for a recipient who got another email since', async t => {
  const campaign = await makeCampaign(world, account)
  const [email, later] = [await makeTracked(world, account, { campaign }), await makeTracked(world, account)]
  await pg.query('UPDATE campaign_recipients SET variant = 1, email_id = $2 WHERE email_id = $1', [
    ...[email.email_id, later.email_id],
  ])
  await pg.query(
    `INSERT INTO campaign_links (account_id, campaign_id, variant, link, url)
     SELECT account_id, campaign_id, 1, link, url FROM campaign_links WHERE campaign_id = $1`,
    [campaign.id],
  )
  await recordHits(world.pool, [makeHit(email, 1, -5_000)])
  const links = 'SELECT variant, link FROM campaign_links WHERE campaign_id = $1 AND clicks > 0'
  t.strictSame((await pg.query(links, [campaign.id])).rows, [{ variant: 1, link: 1 }])
  shows(t, await readRecipient(later), { opens: 0, clicks: 0, first_clicked_at: null })
})

t.test('an open by the client of a burst is by a machine, before or after the burst', async t => {
  const campaign = await makeCampaign(world, account)
  const scanner = { ip: '198.51.100.9' }
  const scan = (email: TrackedEmail) => [0, 1, 2].map(link => makeHit(email, link, link - 20_000, scanner))
  const first = await makeTracked(world, account, { campaign })
  await recordHits(world.pool, [makeHit(first, null, -50_000, scanner)])
  t.strictSame(await readFigures(world, campaign), { opened: 1, unique_opened: 1 })
  await recordHits(world.pool, scan(first))
  t.strictSame(await readFigures(world, campaign), { machine_clicked: 1, machine_opened: 1 })
  t.equal(await readLastEvent(first), 'delivered')

  const last = await makeTracked(world, account, { campaign })
  await recordHits(world.pool, scan(last))
  await recordHits(world.pool, [makeHit(last, null, -15_000, scanner)])
  t.strictSame(await readFigures(world, campaign), { machine_clicked: 2, machine_opened: 2 })
  // A person opens beside the burst, and the client of the burst at another time.
  const later = await makeTracked(world, account, { campaign, delivered_ago: 600 })
  await recordHits(world.pool, [...scan(later), makeHit(later, null, -15_000), makeHit(later, null, -200_000, scanner)])
  t.strictSame(await readFigures(world, campaign), {
    ...{ machine_clicked: 3, machine_opened: 2, opened: 2, unique_opened: 1 },
  })
})

t.test('a burst resets the engagement of the contact to that of its other emails', async t => {
  const [before, campaign] = [await makeCampaign(world, account), await makeCampaign(world, account)]
  const to = 'twice@b.com'
  const old = await makeTracked(world, account, { campaign: before, to, delivered_ago: 500 })
  const open = makeHit(old, null, -400_000)
  await recordHits(world.pool, [open])
  const email = await makeTracked(world, account, { campaign, to })
  await recordHits(world.pool, [makeHit(email, 0, -30_000)])
  shows(t, await readEngagement(email), { opened_count: 2, clicked_count: 1 })
  await recordHits(world.pool, [makeHit(email, 1, -29_000), makeHit(email, 2, -28_000)])
  shows(t, await readEngagement(email), {
    ...{ opened_count: 1, clicked_count: 0, last_opened_at: open.created_at, last_clicked_at: null },
  })
})

const bursts: [what: string, links: number, clicks: [link: number, ms: number][], isBurst: boolean][] = [
  [
    '2 of 3 links at once',
    3,
    [
      [0, 0],
      [1, 100],
    ],
    false,
  ],
  [
    'the same link three times',
    3,
    [
      [0, 0],
      [0, 10],
      [0, 20],
    ],
    false,
  ],
  [
    'both of 2 links within 10 s',
    2,
    [
      [0, 0],
      [1, 9_000],
    ],
    true,
  ],
  [
    'both of 2 links within 30 s',
    2,
    [
      [0, 0],
      [1, 30_000],
    ],
    false,
  ],
  [
    'the only link twice',
    1,
    [
      [0, 0],
      [0, 5],
    ],
    false,
  ],
  [
    '3 of 20 links within 10 s',
    20,
    [
      [0, 0],
      [1, 5_000],
      [2, 9_900],
    ],
    true,
  ],
  [
    '3 of 20 links within 11 s',
    20,
    [
      [0, 0],
      [1, 5_000],
      [2, 11_000],
    ],
    false,
  ],
  [
    '3 of 6 links within 60 s',
    6,
    [
      [0, 0],
      [1, 30_000],
      [2, 59_000],
    ],
    true,
  ],
  [
    '3 of 7 links within 60 s',
    7,
    [
      [0, 0],
      [1, 30_000],
      [2, 59_000],
    ],
    false,
  ],
]
for (const [what, links, clicks, isBurst] of bursts) {
  t.test(`${what}: ${isBurst ? 'a burst' : 'no burst'}`, async t => {
    const email = await makeTracked(world, account, { links, delivered_ago: 600 })
    const hits = clicks.map(([link, ms]) => makeHit(email, link, ms - 300_000))
    for (const hit of hits) await recordHits(world.pool, [hit])
    const classes = (await readHits(world, email)).map(hit => hit.class)
    t.strictSame(
      classes,
      hits.map(() => (isBurst ? 'machine' : 'human')),
    )
  })
}

t.test('hits that arrive out of order are classified by their time', async t => {
  const email = await makeTracked(world, account, { links: 20, delivered_ago: 600 })
  for (const [link, ms] of [
    [2, 9_000],
    [0, 0],
    [5, 200_000],
    [1, 4_000],
  ] as const) {
    await recordHits(world.pool, [makeHit(email, link, ms - 300_000)])
  }
  t.strictSame(
    (await readHits(world, email)).map(({ link, class: name }) => [link, name]),
    [
      [0, 'machine'],
      [1, 'machine'],
      [2, 'machine'],
      [5, 'human'],
    ],
  )
})

t.test('hits of deleted emails, and links of other emails, are ignored', async t => {
  const [gone, kept, other] = [
    await makeTracked(world, account),
    await makeTracked(world, account),
    await makeTracked(world, account),
  ]
  await pg.query('SELECT forget_settled_emails($1, ARRAY[$2]::uuid[])', [account.id, gone.email_id])
  const foreign = makeHit(kept, 0, 0, { source_id: other.email_id })
  await recordHits(world.pool, [makeHit(gone, null), makeHit(gone, 0), foreign, makeHit(kept, 1)])
  t.strictSame(await readHits(world, gone), [])
  shows(t, await readHits(world, kept), [{ link: 1 }])
  t.strictSame(await readHits(world, other), [])
})

t.test('a link of shared content is counted', async t => {
  const email = await makeTracked(world, account)
  await pg.query(`INSERT INTO contents (account_id, id, html) VALUES ($1, $2, '<a href="https://acme.com">x</a>')`, [
    ...[account.id, email.delivery_id],
  ])
  await pg.query('UPDATE email_contents SET content_id = $1 WHERE email_id = $2', [email.delivery_id, email.email_id])
  await recordHits(world.pool, [makeHit(email, 0, 0, { source_id: email.delivery_id })])
  shows(t, await readHits(world, email), [{ link: 0, class: 'human' }])
})

t.test('hits recorded concurrently add up', async t => {
  const campaign = await makeCampaign(world, account)
  const emails = await Promise.all(Array.from({ length: 20 }, () => makeTracked(world, account, { campaign })))
  const hits = Array.from({ length: 600 }, (_, n) => makeHit(emails[n % 20] as TrackedEmail, n % 3 ? 0 : null, -n))
  const sets = Array.from({ length: 12 }, (_, n) => hits.filter((_, at) => at % 12 === n || at % 12 === n + 1))
  await Promise.all(
    sets.map(set =>
      recordHits(
        world.pool,
        set.sort(() => Math.random() - 0.5),
      ),
    ),
  )
  t.strictSame(await readFigures(world, campaign), { clicked: 400, opened: 200, unique_clicked: 20, unique_opened: 20 })
  t.strictSame(await readLinks(campaign), [{ link: 0, clicks: 400, unique_clicks: 20 }])
})

t.test('webhooks announce the first hit of each class', async t => {
  const own = await newAccount(world)
  await insertUnchecked(world, own.id, 'https://hooks.acme.com/x')
  const email = await makeTracked(world, own)
  const open = makeHit(email, null)
  await recordHits(world.pool, [
    open,
    makeHit(email, null, 5),
    makeHit(email, null, 9, { class: 'proxy', ip: '2001:db8::1' }),
  ])
  const click = makeHit(email, 1, 20)
  await recordHits(world.pool, [click, makeHit(email, null, 30)])
  shows(
    t,
    (await readWebhookEvents(world, own)).filter(({ type }) => type === 'email.opened' || type === 'email.clicked'),
    [
      {
        type: 'email.opened',
        data: {
          email_id: email.email_id,
          to: [email.recipient],
          open: {
            ipAddress: '192.0.2.7',
            timestamp: open.created_at.toISOString(),
            userAgent: open.user_agent,
            class: 'human',
          },
        },
      },
      { type: 'email.opened', data: { open: { ipAddress: '2001:db8::1', class: 'proxy' } } },
      {
        type: 'email.clicked',
        data: { click: { link: email.urls[1], timestamp: click.created_at.toISOString(), class: 'human' } },
      },
    ],
  )
})

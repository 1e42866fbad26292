import { newId } from '#lib/ids.ts'
import type { Pool } from '#sql/pool.ts'
import type { TestAccount } from '#test/support/world.ts'
import type { Person, Surroundings } from './evaluate.ts'

/** Values for contacts and conditions: some contain others, differ only in case or look like patterns. */
export const TEXTS = [
  ...[
    'Ann',
    'ann',
    'ANNA',
    'a%b',
    'a_b',
    'a\\b',
    '%',
    '_',
    '\\',
    "O'Brien",
    '"quoted"',
    '50%',
    'x)--',
    '$1',
    '?',
    '.*',
  ],
  ...[
    'Ärger',
    'ärger',
    'STRASSE',
    'straße',
    'ΣΊΣΥΦΟΣ',
    'σίσυφος',
    '李明',
    '🙂',
    'e\u0301',
    'é',
    'free',
    ' ',
    'null',
    '{"a":1}',
  ],
]
export const NUMBERS = [0, 1, -1, 1.5, 0.1, 1e15, -2.5e-7, 9_007_199_254_740_991, 42]
const ADDRESSES = ['ann', 'bob', '50%off', 'a_b', "o'brien", 'x+y', 'zed']
const HOSTS = ['acme.com', 'acme.co', 'mail.example-shop.org', 'a-b.io']

export const KEYS = { plan: 'string', city: 'string', again: 'string', seats: 'number', score: 'number' } as const
const DAY = 86_400_000

const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(Math.random() * values.length)] as Value
const maybe = <Value>(value: () => Value): Value | null => (Math.random() < 0.5 ? value() : null)
/** Never close to a whole number of days. */
const daysAgo = (days: number) => new Date(Date.now() - (days + 0.5) * DAY)

/** Random contacts of the account’s domain, with everything that segments can filter by and refer to. */
export async function addPeople(pool: Pool, account: TestAccount, count: number) {
  const around: Surroundings = {
    fallbacks: { plan: 'free', city: null, again: 'ANNA', seats: 1, score: null },
    topics: { [newId()]: 'opt_in', [newId()]: 'opt_out' },
    segments: {},
    campaigns: [newId(), newId()],
  }
  const people = Array.from({ length: count }, (_, n) => person(n, around))
  await insertSurroundings(pool, account, around)
  await insertPeople(pool, account, people)
  await pool.pg.query('ANALYZE') // as autovacuum does
  return { people, around }
}

function person(n: number, { topics, campaigns }: Surroundings): Person {
  const own = Object.entries(KEYS).flatMap(([key, type]) =>
    Math.random() < 0.5 ? [] : [[key, type === 'string' ? pick(TEXTS) : pick(NUMBERS)]],
  )
  const states = campaigns
    .filter(() => Math.random() < 0.6)
    .map(id => {
      const sent = Math.random() < 0.8
      const opened = sent && Math.random() < 0.5
      return [id, { sent, opened, clicked: opened && Math.random() < 0.5 }]
    })
  const activity = () => ({ last_at: maybe(() => daysAgo(pick([0, 5, 20, 80, 400]))), count: pick([0, 1, 3, 10]) })
  return {
    id: newId(),
    email: `${pick(ADDRESSES)}.${n}@${pick(HOSTS)}`,
    first_name: maybe(() => pick(TEXTS)),
    last_name: maybe(() => pick(TEXTS)),
    unsubscribed: Math.random() < 0.3,
    created_at: daysAgo(pick([0, 3, 10, 50, 200])),
    own: Object.fromEntries(own),
    topics: Object.fromEntries(
      Object.keys(topics).flatMap(id => (Math.random() < 0.5 ? [] : [[id, pick(['opt_in', 'opt_out'] as const)]])),
    ),
    by_hand: [],
    campaigns: Object.fromEntries(states),
    ...{ sent: activity(), opened: activity(), clicked: activity() },
  }
}

async function insertSurroundings({ pg }: Pool, { id, domain_id }: TestAccount, around: Surroundings): Promise<void> {
  for (const [key, type] of Object.entries(KEYS)) {
    // Values of an earlier property with the same key may remain.
    const stored_as = key === 'again' ? `again ${newId()}` : key
    await pg.query(
      `INSERT INTO contact_properties (account_id, id, key, stored_as, type, fallback_value) VALUES ($1, $2, $3, $4, $5, $6)`,
      [
        id,
        newId(),
        key,
        stored_as,
        type,
        around.fallbacks[key] === null ? null : JSON.stringify(around.fallbacks[key]),
      ],
    )
  }
  for (const [topic, subscription] of Object.entries(around.topics)) {
    await pg.query(`INSERT INTO topics VALUES ($1, $2, $3, $2::uuid::text, NULL, $4, 'public')`, [
      ...[id, topic, domain_id, subscription],
    ])
  }
  for (const campaign of around.campaigns) {
    await pg.query('INSERT INTO campaigns VALUES ($1, $2, $3)', [id, campaign, domain_id])
  }
}

async function insertPeople({ pg }: Pool, { id, domain_id }: TestAccount, people: Person[]): Promise<void> {
  const { rows } = await pg.query('SELECT key, stored_as FROM contact_properties WHERE account_id = $1', [id])
  const names = new Map(rows.map(({ key, stored_as }) => [key, stored_as]))
  const properties = ({ own }: Person) => ({
    ...(Math.random() < 0.5 ? { again: pick([5, 'Ann']) } : {}),
    ...Object.fromEntries(Object.entries(own).map(([key, value]) => [names.get(key), value])),
  })
  const contacts = people.map(one => ({
    ...one,
    account_id: id,
    domain_id,
    properties: properties(one),
    source: 'api',
  }))
  await insertAll(
    pg,
    'contacts',
    'account_id, id, domain_id, email, first_name, last_name, unsubscribed, properties, source, created_at',
    contacts,
  )
  const choices = people.flatMap(one =>
    Object.entries(one.topics).map(([topic_id, subscription]) => ({
      account_id: id,
      contact_id: one.id,
      topic_id,
      subscription,
    })),
  )
  await insertAll(pg, 'contact_topics', 'account_id, contact_id, topic_id, subscription', choices)
  const recipients = people.flatMap(one =>
    Object.entries(one.campaigns).map(([campaign_id, { sent, opened, clicked }]) => ({
      ...{ account_id: id, campaign_id, contact_id: one.id, run: pick([1, 2]) },
      sent_at: sent ? daysAgo(1) : null,
      first_opened_at: opened ? daysAgo(1) : null,
      first_clicked_at: clicked ? daysAgo(1) : null,
    })),
  )
  await insertAll(
    pg,
    'campaign_recipients',
    'account_id, campaign_id, contact_id, run, sent_at, first_opened_at, first_clicked_at',
    recipients,
  )
  const engagement = people.map(({ sent, opened, clicked, ...one }) => ({
    ...{ account_id: id, contact_id: one.id },
    ...{ last_sent_at: sent.last_at, last_opened_at: opened.last_at, last_clicked_at: clicked.last_at },
    ...{ sent_count: sent.count, opened_count: opened.count, clicked_count: clicked.count },
  }))
  await insertAll(
    pg,
    'contact_engagement',
    'account_id, contact_id, last_sent_at, last_opened_at, last_clicked_at, sent_count, opened_count, clicked_count',
    engagement,
  )
}

async function insertAll(pg: Pool['pg'], table: string, columns: string, rows: object[]): Promise<void> {
  await pg.query(
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1::json)`,
    [JSON.stringify(rows)],
  )
}

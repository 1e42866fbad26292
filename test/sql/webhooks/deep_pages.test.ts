import t from 'tap'
import { listWebhookEvents } from '#sql/webhooks/history.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const COUNT = 3_000
/** A step that reads all rows of a list passes on 3,000. */
const MOST_PASSED = 200

const opened = await openWorld(t, { FETCH_ALLOW: '127.0.0.0/8' })
const { pool, statements } = await openPlannedPool(t, opened)
const { pg } = opened.pool
const account = await newAccount(opened)

/** Statements since the last call with a step that passed on most rows of a list. */
const long = () => statements.splice(0).filter(({ passed }) => passed > MOST_PASSED)

t.test('a page deep in the events of a webhook reads no events before it', async t => {
  const webhook = { endpoint: 'http://127.0.0.1:1/', events: ['*'] }
  const [{ id }, other] = [await addWebhook(opened, account.id, webhook), await addWebhook(opened, account.id, webhook)]
  await pg.query(
    `WITH e AS (
       INSERT INTO webhook_events (account_id, id, type, body)
       SELECT $1, uuidv7(n * interval '-1 minute'), 'email.sent', '{}' FROM generate_series(1, 8 * $2::integer) AS n RETURNING *
     )
     INSERT INTO webhook_deliveries (account_id, event_id, webhook_id, state)
     SELECT e.account_id, e.id, w.id, 'success' FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM e) e
     JOIN (VALUES ($3::bigint, 8), ($4::bigint, 1)) AS w(id, part) ON e.n % w.part = 0`,
    [account.id, COUNT, id, other.id],
  )
  await pg.query('ANALYZE')
  const { rows } = await pg.query(
    'SELECT event_id AS id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id DESC OFFSET $2 LIMIT 100',
    [id, COUNT / 2],
  )
  const ids = rows.map(event => event.id)
  statements.length = 0
  for (const [filter, position, expected] of [
    [{}, { after: ids[50] }, ids.slice(51, 61)],
    [{ type: 'email.sent' }, { after: ids[50] }, ids.slice(51, 61)],
    [{}, { before: ids[99] }, ids.slice(89, 99)],
  ] as const) {
    const page = await listWebhookEvents(pool, { account_id: account.id, webhook_id: id }, filter, {
      limit: 10,
      ...position,
    })
    t.strictSame(
      page.data.map(event => event.id),
      expected,
    )
  }
  t.equal(statements.length, 3)
  t.same(long(), [])
})

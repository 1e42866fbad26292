import t from 'tap'
import { listRecipients } from '#sql/campaigns/report/recipients.ts'
import { startApi } from '#test/support/api.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const COUNT = 3_000
/** A step that reads all rows of a list passes on 3,000. */
const MOST_PASSED = 200

const opened = await openWorld(t)
const { pool, statements } = await openPlannedPool(t, opened)
const { pg } = opened.pool
const account = await newAccount(opened)
const api = await startApi(t, opened, account.key)

/** Statements since the last call with a step that passed on most rows of a list. */
const long = () => statements.splice(0).filter(({ passed }) => passed > MOST_PASSED)

t.test(
  'a recipient is found by its address without its neighbours, also without a contact or a stored address',
  async t => {
    const addresses = Array.from({ length: COUNT }, (_, n) => `reader${n}@b.com`)
    const contacts = await addContacts(opened, account, addresses)
    const campaign_id = await createDraft(api, account)
    await pg.query('INSERT INTO campaign_runs (account_id, campaign_id, run) VALUES ($1, $2, 1)', [
      account.id,
      campaign_id,
    ])
    await pg.query(
      `INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, run, email, state)
     SELECT account_id, $2, id, 1, email, 'x' FROM contacts WHERE account_id = $1`,
      [account.id, campaign_id],
    )
    await pg.query('DELETE FROM contacts WHERE id = $1', [contacts[1]])
    await pg.query('UPDATE campaign_recipients SET email = NULL WHERE contact_id = ANY ($1)', [
      [contacts[2], contacts[3]],
    ])
    await pg.query('DELETE FROM contacts WHERE id = $1', [contacts[3]])
    await pg.query('ANALYZE')
    statements.length = 0
    const find = async (email: string) => {
      const { data } = await listRecipients(pool, { account_id: account.id, id: campaign_id }, { email }, { limit: 10 })
      return data.map(({ id }) => id)
    }
    t.strictSame(await find('Reader0@b.com'), [contacts[0]])
    t.strictSame(await find('reader1@b.com'), [contacts[1]], 'it was deleted')
    t.strictSame(await find('reader2@b.com'), [contacts[2]], 'its email was forgotten')
    t.strictSame(await find('reader3@b.com'), [], 'both')
    t.strictSame(await find('nobody@b.com'), [])
    t.ok(statements.length >= 5, `${statements.length} statements`)
    t.same(long(), [])
  },
)

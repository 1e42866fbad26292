import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'
import type { Api } from '#test/support/api.ts'
import type { TestAccount } from '#test/support/world.ts'

type ContactFields = { unsubscribed?: boolean; first_name?: string }

/** Contacts of the domain of an account, without webhooks and history; returns their ids. */
export async function addContacts(
  { pool }: Pick<Foundation, 'pool'>,
  { id: account_id, domain_id }: TestAccount,
  emails: string[],
  { unsubscribed = false, first_name }: ContactFields = {},
): Promise<string[]> {
  const ids = emails.map(() => newId())
  await pool.pg.query(
    `INSERT INTO contacts (account_id, id, domain_id, email, source, unsubscribed, first_name)
     SELECT $1, c.id, $2, c.email, 'api', $5, $6 FROM unnest($3::uuid[], $4::text[]) AS c (id, email)`,
    [account_id, domain_id, ids, emails, unsubscribed, first_name ?? null],
  )
  return ids
}

/** A draft of an account to all of its contacts, by the API; returns its id. */
export async function createDraft(api: Api, account: TestAccount, fields: object = {}): Promise<string> {
  const draft = {
    ...{ from: `News <news@${account.domain}>`, subject: 'March', html: '<p>Hello {{first_name|friend}}</p>' },
    ...{ audience_id: account.domain_id, ...fields },
  }
  const { status, text, body } = await api.request('POST', '/api/campaigns', { key: account.key, body: draft })
  if (status !== 201) throw new Error(text)
  return body.id
}

import { writeContacts } from '#flows/contacts/write_contacts.ts'
import { announce } from '#flows/webhooks/announce.ts'
import { orNotFound } from '#lib/errors.ts'
import { storedAddress } from '#lib/mail/address.ts'
import { eraseAllButOptOut } from '#sql/contacts/consents.ts'
import { announceContacts, deleteContact, lockContact } from '#sql/contacts/contact_changes.ts'
import { type ContactRef, findContact, findContactIds } from '#sql/contacts/contacts.ts'
import { deleteErrorsOf, listFaultyImports } from '#sql/contacts/import/record_errors.ts'
import { forgetRecipient } from '#sql/contacts/leftovers.ts'
import { listDomainsOfAddress } from '#sql/domains/own_domains.ts'
import { deleteFormerContact, type Person } from '#sql/erasure/former_contacts.ts'
import { forgetEventsOfContact } from '#sql/events/contact_events.ts'
import { withdrawAnswers } from '#sql/polls/asked_polls.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { listReceivedEmails } from '#sql/receiving/received_email_list.ts'
import { deleteReceivedEmail } from '#sql/receiving/received_emails.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { forgetSettledEmails } from '#sql/sending/emails.ts'
import { listEmails } from '#sql/sending/search/email_list.ts'
import { deleteSuppressions } from '#sql/suppressions/suppression_changes.ts'
import { findSuppression } from '#sql/suppressions/suppressions.ts'
import { forgetFormerContacts } from './forget_former_contacts.ts'

/** Counts of what was erased. `pending_emails` are still to be sent, and keep their recipients and contents. */
export type Erased = { emails: number; pending_emails: number; received_emails: number; suppressions: number }

type Dependencies = { pool: Pool; config: { BASE_URL: string } }

/**
 * Erases a person from a domain: the contact with its events and its runs of automations, the contents of mail to its
 * address alone, its answers to polls, received mail from it, and its suppression, which applies to all domains and so is
 * kept for a contact of another one. Only opt-outs are kept, under a hash of the address. The contact is deleted after the
 * rest, so that an interrupted call can be repeated, and then what was sent meanwhile: campaigns and automations send to it
 * until it is deleted. An address that is no contact (any more) is erased too.
 *
 * @returns the id of the contact, or the address if it is none
 * @throws {ApiError} 404 for an id, `contacts_busy`, `contacts_timeout`
 */
export async function erasePerson(
  { pool, config }: Dependencies,
  account_id: string,
  ref: ContactRef,
): Promise<{ id: string; erased: Erased }> {
  const contact = await findContact(pool, account_id, ref)
  const { email, domain_id } = 'email' in ref ? ref : orNotFound('Contact', contact)
  const person = { account_id, email, domain_id }
  const { emails } = await forgetSent(pool, person)
  const received_emails = await deleteReceived(pool, person, config.BASE_URL)
  await forgetImportErrors(pool, person)
  await forgetFormerContacts(pool, person)
  const suppressions = await eraseRow(pool, person)
  const late = await forgetSent(pool, person)
  const { pending_emails } = late
  return {
    id: contact?.id ?? email,
    erased: { emails: emails + late.emails, pending_emails, received_emails, suppressions },
  }
}

/** Items per page of a list. */
const PAGE = 100

async function forgetSent(pool: Pool, { account_id, email, domain_id }: Person) {
  // Finds it in `cc` and `bcc` too, and in other addresses and subjects.
  const filters = { q: email, domain: { id: domain_id } }
  const count = { emails: 0, pending_emails: 0 }
  for (let after: string | undefined; ; ) {
    const { data, has_more } = await listEmails(pool, account_id, { limit: PAGE, after }, filters)
    const alone = data.filter(one => isForAlone(one, email)).map(({ id }) => id)
    const forgotten = await forgetSettledEmails(pool, account_id, alone)
    // Unsettled mail, and mail that others got as well, is kept; only answers to its polls are deleted.
    const ids = data.map(({ id }) => id)
    await withdrawAnswers(pool, account_id, ids, email)
    count.emails += forgotten
    count.pending_emails += alone.length - forgotten
    after = data.at(-1)?.id
    if (!has_more) return count
  }
}

function isForAlone({ to, cc, bcc }: ListedEmail, email: string): boolean {
  const recipients = [...to, ...cc, ...bcc]
  return recipients.length > 0 && recipients.every(one => storedAddress(one).address.toLowerCase() === email)
}

async function deleteReceived(pool: Pool, { account_id, email, domain_id }: Person, base_url: string) {
  const filters = { from: email, domain: { id: domain_id } }
  let count = 0
  for (let after: string | undefined; ; ) {
    const { data, has_more } = await listReceivedEmails(pool, account_id, { limit: PAGE, after }, base_url, filters)
    for (const { id } of data) if (await deleteReceivedEmail(pool, account_id, id)) count++
    after = data.at(-1)?.id
    if (!has_more) return count
  }
}

/** Outside the transaction that deletes the contact, since it compares all errors: up to 200,000 per import. */
async function forgetImportErrors(pool: Pool, { account_id, domain_id, email }: Person): Promise<void> {
  for (const id of await listFaultyImports(pool, account_id, domain_id)) {
    await deleteErrorsOf(pool, { account_id, id }, email)
  }
}

/** Returns the number of deleted suppressions: 0 or 1. */
async function eraseRow(pool: Pool, { account_id, domain_id, email }: Person): Promise<number> {
  return writeContacts(pool, { account_id, domain_id }, async tx => {
    // Recipients before contacts, as all transactions that lock both.
    const found = await findContactIds(tx, account_id, { domain_id, email })
    if (found) await forgetRecipient(tx, account_id, found.id)
    const contact = await lockContact(tx, account_id, { domain_id, email })
    if (contact) await eraseContact(tx, { account_id, domain_id, email }, contact.id)
    const is_suppressed = (await findSuppression(tx, account_id, { address: email })) !== null
    const others = await listDomainsOfAddress(tx, account_id, email)
    const removed = others.length > 0 ? [] : await deleteSuppressions(tx, account_id, { addresses: [email] })
    await eraseAllButOptOut(tx, { account_id, domain_id, email }, is_suppressed)
    await announce(
      tx,
      removed.map(suppression => ({ account_id, type: 'suppression.removed' as const, data: () => suppression })),
    )
    return removed.length
  })
}

async function eraseContact(tx: Tx, person: Person, id: string): Promise<void> {
  const { account_id } = person
  await announceContacts(tx, account_id, 'contact.deleted', [id])
  await deleteContact(tx, account_id, id)
  await forgetEventsOfContact(tx, account_id, id)
  await deleteFormerContact(tx, person, id)
}

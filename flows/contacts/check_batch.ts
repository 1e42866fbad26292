import { TimeSlice } from '#lib/async/time_slice.ts'
import { BatchContact } from '#lib/contacts/contact_batch.ts'
import { storedValues } from '#lib/contacts/stored_values.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { parse } from '#lib/json/parse.ts'
import type { GivenContact } from '#sql/contacts/contact_changes.ts'
import type { StoredProperty } from '#sql/contacts/properties.ts'
import { toGivenContact } from './given_contact.ts'

/** An invalid contact of a batch. `email` is null if none can be shown. */
export type BatchFault = { index: number; email: string | null; message: string }

/** `contacts`: each address once, the last one wins. `skipped`: how many earlier ones were left out. */
export type CheckedBatch = { contacts: GivenContact[]; faults: BatchFault[]; skipped: number }

/** Maximum characters of an address that are shown in an error. */
const MAX_SHOWN = 254

/** Checks the contacts of a batch one by one, in turns with other requests. */
export async function checkBatch(
  items: unknown[],
  properties: StoredProperty[],
  may_resubscribe: boolean,
): Promise<CheckedBatch> {
  const byAddress = new Map<string, GivenContact>()
  const optOuts = { unsubscribed: new Set<string>(), do_not_track: new Set<string>() }
  const faults: BatchFault[] = []
  const slice = new TimeSlice()
  for (const [index, item] of items.entries()) {
    try {
      const contact = readContact(item, `contacts[${index}]`, properties)
      byAddress.delete(contact.email) // keeps the order of the winning ones
      byAddress.set(contact.email, contact)
      if (contact.unsubscribed) optOuts.unsubscribed.add(contact.email)
      if (contact.do_not_track) optOuts.do_not_track.add(contact.email)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      faults.push({ index, email: shownAddress(item), message: error.message })
    }
    if (slice.isOver) await slice.pause()
  }
  const contacts = Array.from(byAddress.values(), contact => withOptOuts(contact, optOuts, may_resubscribe))
  return { contacts, faults, skipped: items.length - faults.length - contacts.length }
}

/** Addresses of which any contact in the batch opts out. */
type OptOuts = Record<'unsubscribed' | 'do_not_track', Set<string>>

/** The last contact of an address wins, but keeps the opt-outs of the earlier ones unless it may take them back. */
function withOptOuts(contact: GivenContact, { unsubscribed, do_not_track }: OptOuts, may_resubscribe: boolean) {
  const isTakenBack = may_resubscribe && contact.unsubscribed === false
  return {
    ...contact,
    unsubscribed: unsubscribed.has(contact.email) && !isTakenBack ? true : contact.unsubscribed,
    do_not_track: contact.do_not_track ?? (do_not_track.has(contact.email) || null),
  }
}

function readContact(item: unknown, place: string, properties: StoredProperty[]): GivenContact {
  const contact = parse(BatchContact, item, place)
  const values = storedValues(contact.properties ?? {}, properties, `${place}.properties`)
  return toGivenContact(newId(), contact, values)
}

function shownAddress(item: unknown): string | null {
  const { email } = Object(item)
  return typeof email === 'string' ? email.slice(0, MAX_SHOWN).toWellFormed() : null
}

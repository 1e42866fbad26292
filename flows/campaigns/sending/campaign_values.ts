import { LRUCache } from 'lru-cache'
import { atOnce } from '#lib/async/time_slice.ts'
import { type MeasuredContent, measureContent } from '#lib/contents/campaign/content_size.ts'
import { recipientLookup, recipientValues } from '#lib/contents/campaign/recipient_values.ts'
import { listPollKeys } from '#lib/polls/poll_of_content.ts'
import { render } from '#lib/templates/render.ts'
import { listVariants } from '#sql/campaigns/ab/variants.ts'
import type { PendingRecipient } from '#sql/campaigns/sending/recipients.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import { findContent } from '#sql/contents/contents.ts'
import type { Tx } from '#sql/pool.ts'

/** `has_poll`: true if the content has poll links. */
export type CampaignContent = MeasuredContent & { has_poll: boolean }

/** The mail of a variant; without an A/B test all recipients get variant 0. */
export type SentVariant = { sender: string; subject: string; content_id: string; content: CampaignContent }

/** Returns the variants of a run by their numbers; null if a content no longer exists. */
export async function readVariants(tx: Tx, run: Run): Promise<Map<number, SentVariant> | null> {
  const { account_id, campaign_id: id, sender, subject, content_id } = run
  const tested = run.ab_test === null ? [] : await listVariants(tx, { account_id, id })
  const variants = tested.length > 0 ? tested : [{ variant: 0, sender, subject, content_id }]
  const read = new Map<number, SentVariant>()
  for (const { variant, ...parts } of variants) {
    const content = await readContent(tx, account_id, parts.content_id)
    if (!content) return null
    read.set(variant, { ...parts, content })
  }
  return read
}

/** A recipient whose contact still exists. */
export type ValuedContact = PendingRecipient & { email: string }

const contents = new LRUCache<string, CampaignContent>({ max: 100 })

/** Returns a content with the values that it uses, which never change; null if it no longer exists. */
async function readContent(tx: Tx, account_id: string, content_id: string): Promise<CampaignContent | null> {
  const id = `${account_id} ${content_id}`
  const known = contents.get(id)
  if (known) return known
  const source = await findContent(tx, account_id, content_id)
  if (!source) return null
  const content = { ...measureContent(source), has_poll: listPollKeys(source.html, source.text).size > 0 }
  contents.set(id, content)
  return content
}

/** Returns the subject for one recipient, and its values for the keys of the content. */
export function valuesOf(contact: ValuedContact, { keys }: MeasuredContent, subject: string) {
  const lookup = recipientLookup({
    ...contact,
    properties: contact.properties ?? {},
    property_fallbacks: contact.property_fallbacks,
  })
  return { subject: atOnce(render(subject, 'subject', lookup)), variables: recipientValues(keys, lookup) }
}

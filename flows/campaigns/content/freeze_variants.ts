import { TimeSlice } from '#lib/async/time_slice.ts'
import type { AbTest } from '#lib/campaigns/ab_test.ts'
import { refuseVariableSchemes } from '#lib/contents/campaign/check_content.ts'
import { freezeContent } from '#lib/contents/campaign/freeze_content.ts'
import { subjectForNobody } from '#lib/contents/campaign/recipient_values.ts'
import type { Source } from '#lib/contents/compile_content.ts'
import { insertPoll } from '#lib/contents/insert_poll.ts'
import { ApiError } from '#lib/errors.ts'
import type { PollForm } from '#lib/polls/new_poll.ts'
import { listPollKeys, pollOfContent } from '#lib/polls/poll_of_content.ts'
import { LONGEST_LINKS, personalLink } from '#lib/templates/personal_links.ts'
import { placeholders } from '#lib/templates/placeholders.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { Queryable } from '#sql/pool.ts'
import { readSource } from './read_source.ts'

/**
 * Mail of a campaign with its preview text and its footer, before the values of each recipient are inserted. `key`: of
 * the variant of an A/B test; null without a test. `sender`: an address, optionally with a name.
 */
export type FrozenVariant = {
  key: string | null
  sender: string
  subject: string
  html: string | null
  text: string | null
}

/**
 * A campaign as it is sent. Without an A/B test, and after its first run, it has one variant. `subject`: used by
 * variants without their own.
 */
export type FrozenCampaign = { subject: string; reply_to: string[]; poll: PollForm | null; variants: FrozenVariant[] }

/** A campaign with what its content is made from. It need not be stored. */
export type SourceCampaign = Omit<Campaign, 'ab_test'> & { ab_test: Pick<AbTest, 'variants'> | null }

/** Bytes of html. */
const MAX_HTML = 5_000_000

/**
 * Returns a campaign as it is sent: with its own content, or that of the published version of its template.
 *
 * @throws {ApiError} 422 if it cannot be sent
 */
export async function freezeVariants(
  db: Queryable,
  account_id: string,
  campaign: SourceCampaign,
  postal_address: string | null,
): Promise<FrozenCampaign> {
  const source = await readSource(db, account_id, campaign)
  const { write } = source
  const subject = campaign.subject ?? write(source.subject)
  if (!subject) throw refusal('The campaign has no `subject`.')
  const { from, preview_text, reply_to, ab_test } = campaign
  const whole = { key: null, from, subject, preview_text, html: source.html, text: source.text }
  const given = ab_test ? ab_test.variants.map(variant => ({ ...whole, ...ownParts(variant) })) : [whole]
  const slice = new TimeSlice()
  const written = new SharedParts<Written>()
  const variants: (Pick<FrozenVariant, 'key' | 'subject'> & { from: string; parts: Written })[] = []
  for (const variant of given) {
    await slice.pause()
    const parts = written.of(variant, ({ preview_text, html, text }) => {
      const own = { preview_text: write(preview_text), html: write(html), text: write(text) }
      requireSendable(own.html, own.text)
      return campaign.poll ? { ...own, ...insertPoll(own, campaign.poll) } : own
    })
    const { key, from, subject } = { ...variant, subject: write(variant.subject) }
    refuseLinks(subject)
    variants.push({ key, from, subject, parts })
  }
  const pollKeys = listPollKeys(...written.all.flatMap(({ preview_text, html, text }) => [preview_text, html, text]))
  const poll = pollOfContent(campaign.poll, pollKeys, () => subjectForNobody(subject))
  const frozen = new SharedParts<Source>()
  const done: FrozenVariant[] = []
  for (const { key, from: sender, subject, parts } of variants) {
    await slice.pause()
    const source = frozen.of(parts, own => freezeContent(own, { preview_text: own.preview_text, postal_address }))
    done.push({ key, sender, subject, ...source })
  }
  return { subject, reply_to: reply_to.length > 0 ? reply_to : source.reply_to, poll, variants: done }
}

type Written = Pick<Campaign, 'preview_text' | 'html' | 'text'>

/** Results for parts, which variants share that differ in their subject alone: reading 5 MB of html takes a second. */
class SharedParts<Result> {
  readonly #made: { parts: Written; result: Result }[] = []

  get all(): Result[] {
    return this.#made.map(({ result }) => result)
  }

  of(parts: Written, make: (parts: Written) => Result): Result {
    const isSame = (one: Written) =>
      one.html === parts.html && one.text === parts.text && one.preview_text === parts.preview_text
    const known = this.#made.find(one => isSame(one.parts))
    if (known) return known.result
    const result = make(parts)
    this.#made.push({ parts, result })
    return result
  }
}

/** Returns the parts of a variant that replace those of its campaign. */
function ownParts<Parts extends object>(variant: Parts): { [Name in keyof Parts]: NonNullable<Parts[Name]> } {
  return Object.fromEntries(Object.entries(variant).filter(([, value]) => value !== null)) as never
}

/** @throws {ApiError} */
function requireSendable(html: string | null, text: string | null): void {
  if (!html && !text) throw refusal('The campaign has no content: give it `html`, `text` or a `template_id`.')
  if (Buffer.byteLength(html ?? '') > MAX_HTML) {
    throw refusal(`The \`html\` of a campaign must have at most ${MAX_HTML.toLocaleString('en')} bytes.`)
  }
  if (html) refuseVariableSchemes(html)
}

/** Rejects a subject with a link of the recipient, since only the parts have such links. @throws {ApiError} */
function refuseLinks(subject: string): void {
  for (const found of placeholders(subject)) {
    if (!found || found.fallback !== undefined || personalLink(found.key, LONGEST_LINKS) === undefined) continue
    throw refusal(`The \`subject\` cannot have the link \`{{${found.key}}}\`: only \`html\` and \`text\` can.`)
  }
}

function refusal(message: string): ApiError {
  return new ApiError('validation_error', message)
}

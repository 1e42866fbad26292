import { writeFallbacks } from '#lib/campaigns/write_fallbacks.ts'
import { refuseVariableSchemes } from '#lib/contents/campaign/check_content.ts'
import { freezeContent as addParts } from '#lib/contents/campaign/freeze_content.ts'
import { ApiError } from '#lib/errors.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { listFallbackKeys } from '#sql/contacts/properties.ts'
import type { Queryable } from '#sql/pool.ts'
import { listSentTemplates } from '#sql/templates/template_versions.ts'

/** Content that everybody gets of a campaign, with its preview and its footer, before the values of each recipient are put in. */
export type FrozenContent = { html: string | null; text: string | null; subject: string; reply_to: string[] }

/** Bytes of html. */
const MAX_HTML = 5_000_000

/** What a variant of an A/B test has in place of the campaign. */
type OwnParts = Partial<Record<'subject' | 'preview_text' | 'html' | 'text', string>>

/**
 * Returns the content of a campaign as it is sent: its own, or that of the published version of its template, with other parts
 * for a variant.
 *
 * @throws {ApiError} 422 if it cannot be sent
 */
export async function freezeContent(
  db: Queryable,
  account_id: string,
  campaign: Campaign,
  postal_address: string | null,
  own: OwnParts = {},
): Promise<FrozenContent> {
  const source = campaign.template_id === null ? campaign : await readTemplate(db, account_id, campaign.template_id)
  const { html, text } = { ...source, ...own }
  if (!html && !text) throw refusal('The campaign has no content: give it `html`, `text` or a `template_id`.')
  const subject = own.subject ?? campaign.subject ?? source.subject
  if (!subject) throw refusal('The campaign has no `subject`.')
  if (Buffer.byteLength(html ?? '') > MAX_HTML) {
    throw refusal(`The \`html\` of a campaign must have at most ${MAX_HTML.toLocaleString('en')} bytes.`)
  }
  if (html) refuseVariableSchemes(html)
  const preview_text = own.preview_text ?? campaign.preview_text
  const parts = addParts({ html, text }, { preview_text, postal_address })
  return { ...parts, subject, reply_to: campaign.reply_to.length > 0 ? campaign.reply_to : source.reply_to }
}

async function readTemplate(db: Queryable, account_id: string, id: string) {
  const [template] = await listSentTemplates(db, account_id, [id])
  if (!template) throw refusal('The template of the campaign was deleted.')
  if (template.version_id === null) throw refusal('The template of the campaign is not published.')
  const fallbacks = new Map(
    template.variables.flatMap(({ key, fallback_value }) =>
      fallback_value === null ? [] : [[key, String(fallback_value)] as const],
    ),
  )
  const properties = new Set(await listFallbackKeys(db, account_id))
  const write = (source: string | null) => source && writeFallbacks(source, fallbacks, properties)
  const { html, text, subject, reply_to } = template
  return { html: write(html), text: write(text), subject: write(subject), reply_to }
}

function refusal(message: string): ApiError {
  return new ApiError('validation_error', message)
}

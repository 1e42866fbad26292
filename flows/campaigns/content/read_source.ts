import { writeFallbacks } from '#lib/campaigns/write_fallbacks.ts'
import { ApiError } from '#lib/errors.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { listFallbackKeys } from '#sql/contacts/properties.ts'
import type { Queryable } from '#sql/pool.ts'
import { listSentTemplates } from '#sql/templates/template_versions.ts'

/**
 * Content as its author wrote it, with placeholders. `write` adds the fallbacks of the variables of its template to this
 * content, and to what the campaign has instead.
 */
type Source = Pick<Campaign, 'subject' | 'html' | 'text' | 'reply_to'> & {
  write: <Part extends string | null>(part: Part) => Part | string
}

/** Returns the content of a campaign: its own, or that of the published version of its template. @throws {ApiError} 422 */
export async function readSource(
  db: Queryable,
  account_id: string,
  campaign: Pick<Campaign, 'subject' | 'html' | 'text' | 'reply_to' | 'template_id'>,
): Promise<Source> {
  if (campaign.template_id === null) return { ...campaign, write: part => part }
  return readTemplate(db, account_id, campaign.template_id)
}

async function readTemplate(db: Queryable, account_id: string, id: string): Promise<Source> {
  const [template] = await listSentTemplates(db, account_id, [id])
  if (!template) throw refusal('The template of the campaign was deleted.')
  if (template.version_id === null) throw refusal('The template of the campaign is not published.')
  const fallbacks = new Map(
    template.variables.flatMap(({ key, fallback_value }) =>
      fallback_value === null ? [] : [[key, String(fallback_value)] as const],
    ),
  )
  const properties = new Set(await listFallbackKeys(db, account_id))
  const { html, text, subject, reply_to } = template
  return { html, text, subject, reply_to, write: part => part && writeFallbacks(part, fallbacks, properties) }
}

function refusal(message: string): ApiError {
  return new ApiError('validation_error', message)
}

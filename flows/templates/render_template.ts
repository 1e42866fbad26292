import { TimeSlice } from '#lib/async/time_slice.ts'
import { notFound } from '#lib/errors.ts'
import type { LongHtml } from '#lib/sending/long_html.ts'
import type { Variables } from '#lib/templates/variables.ts'
import type { Queryable } from '#sql/pool.ts'
import { findNewestVersion, type NewestVersion } from '#sql/templates/template_versions.ts'
import { renderParts } from './render_parts.ts'
import { renderWhole } from './render_whole.ts'
import { lookupIn, requireTypes } from './resolve_templates.ts'

export type RenderedTemplate = { template_id: string; subject: string; html: string | null; text: string | null }

/**
 * Renders the newest version of a template as an email would have it. Personal links stay placeholders. @throws
 * {ApiError} 404; 422 as for a send with these variables
 */
export async function renderTemplate(
  db: Queryable,
  account_id: string,
  ref: string,
  given: Variables,
): Promise<RenderedTemplate> {
  const template = await findNewestVersion(db, account_id, ref)
  if (!template) throw notFound('Template')
  return { template_id: template.id, ...(await renderContent(template, given)) }
}

type Content = Pick<NewestVersion, 'subject' | 'html' | 'text' | 'variables'>

/** Renders content that need not be stored. @throws {ApiError} 422 as for a send with these variables */
export async function renderContent(
  template: Content,
  given: Variables,
): Promise<Omit<RenderedTemplate, 'template_id'>> {
  requireTypes(given, template.variables)
  const source = { html: template.html, text: template.text }
  const rendering = { slice: new TimeSlice(), readHtml: noLongHtml }
  const { subject, variables, has_links } = await renderParts(
    { ...source, subject: template.subject ?? '' },
    lookupIn(given, template.variables),
    rendering,
  )
  const parts = await renderWhole({ ...source, variables, has_links })
  return { subject, ...parts }
}

/** Never called: only requests that send have html that is stored as it arrives. */
function noLongHtml(_: LongHtml): never {
  throw new Error('the html of a template is already in memory')
}

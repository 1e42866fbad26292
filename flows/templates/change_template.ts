import { refuseUsed } from '#flows/domains/removal/refuse_used.ts'
import { now } from '#lib/clock.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { MAX_NAME, type NewTemplate, NOT_RENDERED, type TemplateChange } from '#lib/templates/new_template.ts'
import { hasPlaceholder } from '#lib/templates/placeholders.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { refuseDuplicate } from '#sql/retry.ts'
import {
  findNewestVersion,
  insertVersion,
  lockTemplate,
  type TemplateContent,
  updateVersion,
} from '#sql/templates/template_versions.ts'
import {
  deleteTemplate,
  insertTemplate,
  lockTemplateToDelete,
  type Published,
  publishNewest,
  updateTemplate,
} from '#sql/templates/templates.ts'
import { changeContent, EMPTY, isSame } from './template_content.ts'

const ALIAS_TAKEN = '`alias` is used by another template.'

/**
 * Prepares a new draft, since reading a large one takes long. The returned function stores it and returns its id.
 *
 * @throws {ApiError} 422 for too many variables; the function: 409 if the alias is taken
 */
export async function prepareTemplate(account_id: string, template: NewTemplate): Promise<(tx: Tx) => Promise<string>> {
  const { name, alias = null } = template
  const content = await changeContent(EMPTY, template)
  return tx => insertDraft(tx, { account_id, name, alias }, content)
}

/**
 * Creates a draft that copies the newest version of a template, named `Copy of …` by default; returns its id.
 *
 * @throws {ApiError} 404
 */
export async function copyTemplate(tx: Tx, account_id: string, ref: string, name?: string | null): Promise<string> {
  const found = await findNewestVersion(tx, account_id, ref)
  if (!found) throw notFound('Template')
  const time = now()
  const variables = found.variables.map(variable => ({ ...variable, id: newId(), created_at: time, updated_at: time }))
  const copy = { account_id, name: name ?? `Copy of ${found.name}`.slice(0, MAX_NAME).toWellFormed(), alias: null }
  const { sender, subject, reply_to, html, text } = found
  return insertDraft(tx, copy, { sender, subject, reply_to, html, text, variables })
}

/**
 * Changes the newest version of a template, or creates the next one if that is published and its content changes; returns the
 * id of the template. Name and alias belong to no version and change at once.
 *
 * @throws {ApiError} 404, or 409 if the alias is taken
 */
export async function changeTemplate(
  pool: Pool,
  account_id: string,
  ref: string,
  fields: TemplateChange,
): Promise<string> {
  const changed = pool.transaction(async tx => {
    await lockTemplate(tx, account_id, ref)
    const found = await findNewestVersion(tx, account_id, ref)
    if (!found) throw notFound('Template')
    const { id } = found
    const content = await changeContent(found, fields)
    const is_new = found.is_published && !isSame(found, content)
    const number = is_new ? found.number + 1 : found.number
    const { name = found.name, alias = found.alias } = fields
    await updateTemplate(tx, { account_id, id, name, alias, number })
    const version = { account_id, template_id: id, number, ...content }
    if (is_new) await insertVersion(tx, { ...version, id: newId() })
    else if (!found.is_published) await updateVersion(tx, version)
    return id
  })
  return changed.catch(refuseDuplicate(ALIAS_TAKEN))
}

/**
 * Makes the newest version the one that is sent. @throws {ApiError} 404, or 422 if it contains placeholders that would
 * not be replaced
 */
export async function publishTemplate(pool: Pool, account_id: string, ref: string): Promise<Published> {
  const published = await pool.transaction(async tx => {
    await lockTemplate(tx, account_id, ref)
    const found = await findNewestVersion(tx, account_id, ref)
    if (found) requireRendered(found)
    return publishNewest(tx, account_id, ref)
  })
  if (!published) throw notFound('Template')
  return published
}

/** Deletes a template; returns its id. @throws {ApiError} 404; 422 if a campaign or an enabled automation uses it */
export async function removeTemplate(pool: Pool, account_id: string, ref: string): Promise<string> {
  return pool.transaction(async tx => {
    const id = await lockTemplateToDelete(tx, account_id, ref)
    if (id === null) throw notFound('Template')
    await refuseUsed(tx, account_id, 'template', id)
    await deleteTemplate(tx, account_id, id)
    return id
  })
}

/** Checks `from` and `reply_to`: stored templates may have placeholders there, which are not replaced. */
function requireRendered({ sender, reply_to }: TemplateContent): void {
  for (const [field, texts] of Object.entries({ from: [sender ?? ''], reply_to })) {
    if (texts.some(hasPlaceholder)) throw new ApiError('validation_error', `\`${field}\` ${NOT_RENDERED}.`)
  }
}

async function insertDraft(
  tx: Tx,
  template: { account_id: string; name: string; alias: string | null },
  content: TemplateContent,
): Promise<string> {
  const id = newId()
  const version = { account_id: template.account_id, template_id: id, number: 1, ...content, id: newId() }
  await insertTemplate(tx, { ...template, id }).catch(refuseDuplicate(ALIAS_TAKEN))
  await insertVersion(tx, version)
  return id
}

import { z } from 'zod'
import { timestamp } from '#lib/json/json_form.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

export const TemplateVariable = z
  .object({
    id: z.string(),
    key: z.string().describe('Name in placeholders.'),
    type: z.enum(['string', 'number']).describe('Type of its values.'),
    fallback_value: z.union([z.string(), z.number()]).nullable().describe('Value for emails that give none.'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'TemplateVariable' })
export type TemplateVariable = z.infer<typeof TemplateVariable>

/** Fields of a version. `sender`, `reply_to`: in the format that `parseAddress` reads. */
const content = {
  sender: z.string().nullable(),
  subject: z.string().nullable(),
  reply_to: z.array(z.string()),
  html: z.string(),
  text: z.string().nullable(),
  variables: z.array(TemplateVariable),
}
const TemplateContent = z.object(content)
export type TemplateContent = z.infer<typeof TemplateContent>

const contentColumns = sql.fragment`v.sender, v.subject, v.reply_to, v.html, v.text, v.variables`

/** Returns true for an id; no alias looks like one. */
const isId = (ref: string) => z.guid().safeParse(ref).success

/** Returns a condition on `templates t`, by id or alias. */
export function isNamed(ref: string) {
  return isId(ref) ? sql.fragment`t.id = ${ref}::uuid` : sql.fragment`t.alias = ${ref}`
}

/** `templates t` with their newest versions `v`. */
export const newest = sql.fragment`
  templates t JOIN template_versions v ON v.account_id = t.account_id AND v.template_id = t.id AND v.number = t.number
`

const NewestVersion = z.object({
  ...content,
  id: z.string(),
  name: z.string(),
  alias: z.string().nullable(),
  number: z.int(),
  is_published: z.boolean(),
})
export type NewestVersion = z.infer<typeof NewestVersion>

/** Finds a template with its newest version. */
export async function findNewestVersion(db: Queryable, account_id: string, ref: string): Promise<NewestVersion | null> {
  return db.maybeOne(sql.type(NewestVersion)`
    SELECT t.id, t.name, t.alias, t.number, t.number <= coalesce(t.published_number, 0) AS is_published, ${contentColumns}
    FROM ${newest} WHERE t.account_id = ${account_id} AND ${isNamed(ref)}
  `)
}

/**
 * Locks a template against changes and publishing until the transaction ends. A separate statement, since a version
 * committed while it waited is only visible to the next one.
 */
export async function lockTemplate(tx: Tx, account_id: string, ref: string): Promise<void> {
  await tx.run(sql.unsafe`
    SELECT FROM templates t WHERE t.account_id = ${account_id} AND ${isNamed(ref)} FOR NO KEY UPDATE
  `)
}

type VersionId = { account_id: string; template_id: string; number: number }

export async function insertVersion(tx: Tx, version: VersionId & TemplateContent & { id: string }): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO template_versions
      (account_id, template_id, number, id, sender, subject, reply_to, html, text, variables)
    VALUES (${version.account_id}, ${version.template_id}, ${version.number}, ${version.id}, ${version.sender},
      ${version.subject}, ${sql.array(version.reply_to, 'text')}, ${version.html}, ${version.text},
      ${JSON.stringify(version.variables)})
  `)
}

/** Changes a version that was never published. */
export async function updateVersion(tx: Tx, version: VersionId & TemplateContent): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE template_versions SET sender = ${version.sender}, subject = ${version.subject},
      reply_to = ${sql.array(version.reply_to, 'text')}, html = ${version.html}, text = ${version.text},
      variables = ${JSON.stringify(version.variables)}
    WHERE account_id = ${version.account_id} AND template_id = ${version.template_id} AND number = ${version.number}
  `)
}

const SentTemplate = z.object({
  ...content,
  id: z.string(),
  alias: z.string().nullable(),
  /** Null if none is published; the fields of the version are then empty. */
  version_id: z.string().nullable(),
})
/** A template as it is sent. */
export type SentTemplate = z.infer<typeof SentTemplate>

/** Lists the existing templates with these ids or aliases, in any order, with their published versions. */
export async function listSentTemplates(db: Queryable, account_id: string, refs: string[]): Promise<SentTemplate[]> {
  const ids = sql.array(refs.filter(isId), 'uuid')
  const aliases = sql.array(
    refs.filter(ref => !isId(ref)),
    'text',
  )
  return db.any(sql.type(SentTemplate)`
    SELECT t.id, t.alias, v.id AS version_id, v.sender, v.subject, coalesce(v.reply_to, '{}') AS reply_to,
      coalesce(v.html, '') AS html, v.text, coalesce(v.variables, '[]') AS variables
    FROM templates t
    LEFT JOIN template_versions v
      ON v.account_id = t.account_id AND v.template_id = t.id AND v.number = t.published_number
    WHERE t.account_id = ${account_id} AND (t.id = ANY (${ids}) OR t.alias = ANY (${aliases}))
  `)
}

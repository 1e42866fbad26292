import { z } from 'zod'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { isNamed, newest, TemplateVariable } from './template_versions.ts'

export const TemplateStatus = z.enum(['draft', 'published'])
export type TemplateStatus = z.infer<typeof TemplateStatus>

const listed = {
  object: z.literal('template'),
  id: z.string(),
  alias: z.string().nullable().describe('Name that requests may use in place of the id.'),
  name: z.string().describe('Name for people.'),
  status: TemplateStatus.describe('`draft`: it was never published, and no email can use it.'),
  subject: z.string().describe('Subject of emails that have none; empty if there is none.'),
  published_at: z.date().nullable().describe('When it was last published.'),
  created_at: z.date(),
  updated_at: z.date(),
}

/** A template as GET /templates shows it. */
export const ListedTemplate = z.object(listed).meta({ id: 'ListedTemplate' })
export type ListedTemplate = z.infer<typeof ListedTemplate>

/** A template as GET /templates/:id shows it: its newest version. */
export const Template = z
  .object({
    ...listed,
    current_version_id: z.string().describe('Id of the newest version, which is shown here.'),
    has_unpublished_versions: z.boolean().describe('True if emails use an older version, or none.'),
    from: z.string().describe('Sender of emails that have none; empty if there is none.'),
    reply_to: z.string().nullable().describe('Addresses for replies, with commas between them.'),
    html: z.string().describe('HTML part, with placeholders.'),
    text: z.string().nullable().describe('Plain-text part; null: derived from `html`.'),
    variables: z.array(TemplateVariable).describe('Variables of this version.'),
  })
  .meta({ id: 'Template' })
export type Template = z.infer<typeof Template>

const listedColumns = sql.fragment`
  'template' AS object, t.id, t.alias, t.name,
  CASE WHEN t.published_number IS NULL THEN 'draft' ELSE 'published' END AS status,
  coalesce(v.subject, '') AS subject, t.published_at, t.created_at, t.updated_at
`

export async function findTemplate(db: Queryable, account_id: string, ref: string): Promise<Template | null> {
  return db.maybeOne(sql.type(Template)`
    SELECT ${listedColumns}, v.id AS current_version_id, t.number > coalesce(t.published_number, 0) AS
      has_unpublished_versions, coalesce(v.sender, '') AS "from", nullif(array_to_string(v.reply_to, ', '), '') AS reply_to,
      v.html, v.text, v.variables
    FROM ${newest} WHERE t.account_id = ${account_id} AND ${isNamed(ref)}
  `)
}

export async function findTemplateId(db: Queryable, account_id: string, ref: string): Promise<string | null> {
  const found = await db.maybeOne(sql.type(z.object({ id: z.string() }))`
    SELECT t.id FROM templates t WHERE t.account_id = ${account_id} AND ${isNamed(ref)}
  `)
  return found?.id ?? null
}

export type TemplateFilter = { status?: TemplateStatus | undefined; q?: string | undefined }

/** Lists templates. `q`: text in names, aliases or subjects, in any case. */
export async function listTemplates(
  db: Queryable,
  account_id: string,
  { status, q }: TemplateFilter,
  position: Position,
): Promise<Page<ListedTemplate>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ListedTemplate)`
      SELECT * FROM (SELECT ${listedColumns} FROM ${newest} WHERE t.account_id = ${account_id}) AS listed
      WHERE ${where} AND (${status ?? null}::text IS NULL OR status = ${status ?? null})
        AND (${q ?? null}::text IS NULL OR strpos(lower(concat_ws(E'\\n', name, alias, subject)), lower(${q ?? null})) > 0)
      ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export type NewTemplateRow = { account_id: string; id: string; name: string; alias: string | null }

export async function insertTemplate(tx: Tx, { account_id, id, name, alias }: NewTemplateRow): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO templates (account_id, id, name, alias) VALUES (${account_id}, ${id}, ${name}, ${alias})
  `)
}

/** Changes the fields outside versions, and sets the number of the newest version. */
export async function updateTemplate(
  tx: Tx,
  { account_id, id, name, alias, number }: NewTemplateRow & { number: number },
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE templates SET name = ${name}, alias = ${alias}, number = ${number}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

const Published = z.object({ id: z.string(), current_version_id: z.string() })
export type Published = z.infer<typeof Published>

/**
 * Publishes the newest version of a locked template; changes nothing if it is published already. Null: there is no such
 * template.
 */
export async function publishNewest(tx: Tx, account_id: string, ref: string): Promise<Published | null> {
  return tx.maybeOne(sql.type(Published)`
    UPDATE templates t SET published_number = t.number,
      published_at = CASE WHEN t.published_number = t.number THEN t.published_at ELSE now() END,
      updated_at = CASE WHEN t.published_number = t.number THEN t.updated_at ELSE now() END
    WHERE t.account_id = ${account_id} AND ${isNamed(ref)}
    RETURNING t.id, (
      SELECT v.id FROM template_versions v
      WHERE v.account_id = t.account_id AND v.template_id = t.id AND v.number = t.number
    ) AS current_version_id
  `)
}

/**
 * Locks a template: no campaign with it can start until the transaction ends. Returns its id; null if it does not
 * exist.
 */
export async function lockTemplateToDelete(tx: Tx, account_id: string, ref: string): Promise<string | null> {
  const found = await tx.maybeOne(sql.type(z.object({ id: z.string() }))`
    SELECT t.id FROM templates t WHERE t.account_id = ${account_id} AND ${isNamed(ref)} FOR UPDATE
  `)
  return found?.id ?? null
}

export async function deleteTemplate(tx: Tx, account_id: string, id: string): Promise<void> {
  await tx.run(sql.unsafe`DELETE FROM templates WHERE account_id = ${account_id} AND id = ${id}`)
}

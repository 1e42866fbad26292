import { type Page, type Position, readHeavyPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { Campaign, type CampaignStatus, columns, ListedCampaign, listedColumns } from './campaign_records.ts'

export type CampaignId = { account_id: string; id: string }

/** Condition that excludes campaigns of a deleted domain, whose rows may still exist. */
const isThere = sql.fragment`EXISTS (SELECT FROM domains d WHERE d.account_id = g.account_id AND d.id = g.domain_id)`

/** Condition that excludes deleted campaigns whose runs were sent: their rows stay for their reports. */
const isKept = sql.fragment`g.deleted_at IS NULL`

export type CampaignFilter = {
  status?: CampaignStatus | undefined
  q?: string | undefined
  domain_id?: string | undefined
}

/** Lists campaigns. `q`: text in their names or subjects, in any case. */
export async function listCampaigns(
  db: Queryable,
  account_id: string,
  { status, q, domain_id }: CampaignFilter,
  position: Position,
): Promise<Page<ListedCampaign>> {
  const text = sql.fragment`lower(concat_ws(E'\\n', g.name, g.subject))`
  const conditions = [
    isThere,
    isKept,
    status === undefined ? sql.fragment`true` : sql.fragment`g.status = ${status}`,
    q === undefined ? sql.fragment`true` : sql.fragment`strpos(${text}, lower(${q})) > 0`,
    domain_id === undefined ? sql.fragment`true` : sql.fragment`g.domain_id = ${domain_id}`,
  ]
  return readHeavyPage(db, position, {
    type: ListedCampaign,
    ids: (where, order, limit) => sql.fragment`
      SELECT id FROM campaigns g WHERE account_id = ${account_id} AND ${sql.join(conditions, sql.fragment` AND `)}
        AND ${where}
      ORDER BY ${order} LIMIT ${limit}
    `,
    row: id =>
      sql.fragment`SELECT ${listedColumns} FROM campaigns g WHERE g.account_id = ${account_id} AND g.id = ${id}`,
  })
}

export async function findCampaign(
  db: Queryable,
  { account_id, id }: CampaignId,
  { with_deleted = true } = {},
): Promise<Campaign | null> {
  return db.maybeOne(sql.type(Campaign)`
    SELECT ${columns} FROM campaigns g
    WHERE g.account_id = ${account_id} AND g.id = ${id} AND ${isThere} AND (${with_deleted} OR ${isKept})
  `)
}

export async function isCampaign(db: Queryable, { account_id, id }: CampaignId): Promise<boolean> {
  return db.exists(
    sql.fragment`SELECT FROM campaigns g WHERE g.account_id = ${account_id} AND g.id = ${id} AND ${isThere}`,
  )
}

/**
 * Locks a campaign until the transaction ends: no other transaction can change it, start it or store emails of it. Null
 * if it does not exist or was deleted.
 */
export async function lockCampaign(tx: Tx, { account_id, id }: CampaignId): Promise<Campaign | null> {
  return tx.maybeOne(sql.type(Campaign)`
    SELECT ${columns} FROM campaigns g WHERE g.account_id = ${account_id} AND g.id = ${id} AND ${isThere} AND ${isKept}
    FOR NO KEY UPDATE OF g
  `)
}

/** Fields of a campaign that a caller chooses. */
export type CampaignFields = Pick<
  Campaign,
  | 'name'
  | 'domain_id'
  | 'audience_id'
  | 'segment_id'
  | 'topic_id'
  | 'from'
  | 'reply_to'
  | 'subject'
  | 'preview_text'
  | 'html'
  | 'text'
  | 'template_id'
  | 'track_opens'
  | 'track_clicks'
  | 'ab_test'
  | 'poll'
  | 'recurrence'
  | 'recurrence_every'
  | 'timezone'
  | 'send_in_local_time'
  | 'skip_if_mailed_within_hours'
  | 'exclude_unengaged_days'
>

const jsonOf = (value: object | null) => (value === null ? null : JSON.stringify(value))

export async function insertCampaign(
  tx: Tx,
  { account_id, id, source_id }: CampaignId & { source_id: string | null },
  fields: CampaignFields,
): Promise<Campaign> {
  return tx.one(sql.type(Campaign)`
    INSERT INTO campaigns AS g (account_id, id, source_id, name, domain_id, audience_id, segment_id, topic_id, sender,
      reply_to, subject, preview_text, html, text, template_id, track_opens, track_clicks, ab_test, poll, recurrence,
      recurrence_every, timezone, send_in_local_time, skip_if_mailed_within_hours, exclude_unengaged_days)
    VALUES (${account_id}, ${id}, ${source_id}, ${fields.name}, ${fields.domain_id}, ${fields.audience_id},
      ${fields.segment_id}, ${fields.topic_id}, ${fields.from}, ${sql.array(fields.reply_to, 'text')}, ${fields.subject},
      ${fields.preview_text}, ${fields.html}, ${fields.text}, ${fields.template_id}, ${fields.track_opens},
      ${fields.track_clicks}, ${jsonOf(fields.ab_test)}, ${jsonOf(fields.poll)}, ${fields.recurrence},
      ${fields.recurrence_every}, ${fields.timezone},
      ${fields.send_in_local_time}, ${fields.skip_if_mailed_within_hours}, ${fields.exclude_unengaged_days})
    RETURNING ${columns}
  `)
}

export async function updateCampaign(tx: Tx, { account_id, id }: CampaignId, fields: CampaignFields): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET name = ${fields.name}, domain_id = ${fields.domain_id}, audience_id = ${fields.audience_id},
      segment_id = ${fields.segment_id}, topic_id = ${fields.topic_id}, sender = ${fields.from},
      reply_to = ${sql.array(fields.reply_to, 'text')}, subject = ${fields.subject},
      preview_text = ${fields.preview_text}, html = ${fields.html}, text = ${fields.text},
      template_id = ${fields.template_id}, track_opens = ${fields.track_opens}, track_clicks = ${fields.track_clicks},
      ab_test = ${jsonOf(fields.ab_test)}, poll = ${jsonOf(fields.poll)}, recurrence = ${fields.recurrence}, recurrence_every = ${fields.recurrence_every},
      timezone = ${fields.timezone}, send_in_local_time = ${fields.send_in_local_time},
      skip_if_mailed_within_hours = ${fields.skip_if_mailed_within_hours},
      exclude_unengaged_days = ${fields.exclude_unengaged_days}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Deletes a campaign without recipients; its other rows are deleted with it. */
export async function deleteCampaign(tx: Tx, { account_id, id }: CampaignId): Promise<void> {
  await tx.run(sql.unsafe`DELETE FROM campaigns WHERE account_id = ${account_id} AND id = ${id}`)
}

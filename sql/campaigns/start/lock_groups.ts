import { sql, type Tx } from '#sql/pool.ts'

type Groups = {
  audience_id: string | null
  segment_id: string | null
  topic_id: string | null
  template_id: string | null
}

/**
 * Locks the groups and the template of a campaign against deletion until the transaction ends
 * (sql/domains/campaign_usages.ts).
 */
export async function lockGroups(tx: Tx, account_id: string, groups: Groups): Promise<void> {
  const named = [
    [sql.fragment`audiences`, groups.audience_id],
    [sql.fragment`segments`, groups.segment_id],
    [sql.fragment`topics`, groups.topic_id],
    [sql.fragment`templates`, groups.template_id],
  ] as const
  for (const [table, id] of named) {
    if (id === null) continue
    await tx.run(sql.unsafe`SELECT FROM ${table} WHERE account_id = ${account_id} AND id = ${id} FOR KEY SHARE`)
  }
}

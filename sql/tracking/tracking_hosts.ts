import { TRACKING_SUBDOMAIN } from '#lib/domains/domain_records.ts'
import { sendableStatuses } from '#sql/domains/columns.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** Returns true if a name, in lower case, is the tracking host of a domain whose record for it exists (is_tracking_record.sql). */
export async function isTrackingHost(db: Queryable, host: string): Promise<boolean> {
  const labels = host.split('.')
  const names = labels.map((_, n) => labels.slice(n + 1).join('.')).slice(0, -1)
  return db.exists(sql.fragment`
    SELECT FROM domains d
    JOIN domain_records r ON r.account_id = d.account_id AND r.domain_id = d.id AND r.name = ${host} AND r.type = 'CNAME'
    WHERE d.name = ANY (${sql.array(names, 'text')}) AND d.status IN ${sendableStatuses}
      AND coalesce(d.tracking_subdomain, ${TRACKING_SUBDOMAIN}) || '.' || d.name = ${host}
      AND (d.open_tracking OR d.click_tracking) AND is_tracking_record(r, d.status)
  `)
}

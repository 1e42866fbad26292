import type { AuditEntry } from '#sql/members/audit_log.ts'
import { html } from '#web/html.ts'
import { empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { time } from '#web/layout/parts.ts'
import { page, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Entry = Wire<AuditEntry>

const auditLog = page('/audit-log', async visit => {
  const list = await visit.call<List<Entry>>('listAuditEntries', { query: listQuery(visit) })
  const columns = [
    { title: 'Time', cell: ({ created_at }: Entry) => time(created_at) },
    { title: 'Actor', cell: ({ actor, actor_name }: Entry) => `${actor_name} (${actor.replace('_', ' ')})` },
    { title: 'IP address', cell: ({ client_address }: Entry) => client_address ?? '' },
    { title: 'Action', cell: ({ action }: Entry) => html`<code>${action}</code>` },
    { title: 'Target', cell: ({ target }: Entry) => target ?? '' },
  ]
  const emptyHtml = empty('No changes yet. Changes made by members, API keys and operators are listed here.')
  return {
    title: 'Audit log',
    body: html`${table({ caption: 'Changes, newest first', columns, rows: list.data, empty: emptyHtml })}${pager(visit, list)}`,
  }
})

export const auditRoom: Room = { pages: [auditLog], actions: [] }

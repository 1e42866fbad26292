import type { AuditEntry } from '#sql/members/audit_log.ts'
import { html } from '#web/html.ts'
import { empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { time } from '#web/layout/parts.ts'
import { page, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Entry = Wire<AuditEntry>

const auditLog = page('/audit-log', async visit => {
  const list = await visit.ask<List<Entry>>('listAuditEntries', { query: listQuery(visit) })
  const columns = [
    { title: 'When', cell: ({ created_at }: Entry) => time(created_at) },
    { title: 'Who', cell: ({ actor, actor_name }: Entry) => `${actor_name} (${actor.replace('_', ' ')})` },
    { title: 'From', cell: ({ client_address }: Entry) => client_address ?? '' },
    { title: 'What', cell: ({ action }: Entry) => html`<code>${action}</code>` },
    { title: 'Where', cell: ({ target }: Entry) => target ?? '' },
  ]
  const nothing = empty('Nothing was changed yet. Changes by members, API keys and operators are listed here.')
  return {
    title: 'Audit log',
    body: html`${table({ caption: 'Changes, newest first', columns, rows: list.data, empty: nothing })}${pager(visit, list)}`,
  }
})

export const auditRoom: Room = { pages: [auditLog], actions: [] }

import type { Server } from '#flows/doctor/server.ts'
import { type Html, html } from '#web/html.ts'
import { empty, table } from '#web/layout/list.ts'
import { badge, count, time } from '#web/layout/parts.ts'
import type { Wire } from '#web/request/wire.ts'

type ServerState = Wire<Server>
type Account = ServerState['accounts'][number]
type Plan = ServerState['plans'][number]

/** A table of all accounts of the server. */
export function accounts({ accounts: rows }: ServerState): Html {
  return table({
    ...{ caption: 'Accounts, newest first', rows, empty: empty('No accounts yet.') },
    link: ({ id }: Account) => `/operator/accounts/${id}`,
    columns: [
      { title: 'Name', cell: ({ name }: Account) => name },
      { title: 'Plan', cell: ({ plan }: Account) => plan },
      { title: 'Status', cell: ({ paused_at }: Account) => badge(paused_at ? 'paused' : 'active') },
      { title: 'Created', cell: ({ created_at }: Account) => time(created_at) },
      { title: 'ID', cell: ({ id }: Account) => html`<code>${id}</code>` },
    ],
  })
}

/** A table of the plans with their limits. Each links to the form that edits it. */
export function plans({ plans: rows }: ServerState): Html {
  const limit = (number: number | null) => (number === null ? 'no limit' : count(number))
  return table({
    ...{ caption: 'Plans, by name', rows, empty: empty('No plans yet.') },
    link: ({ name }: Plan) => `/operator/plan?${new URLSearchParams({ name })}`,
    columns: [
      { title: 'Name', cell: ({ name }: Plan) => name },
      { title: 'Emails per 24 hours', cell: ({ emails_per_day }: Plan) => limit(emails_per_day) },
      { title: 'Emails per 30 days', cell: ({ emails_per_month }: Plan) => limit(emails_per_month) },
      { title: 'Domains', cell: ({ domains }: Plan) => limit(domains) },
      { title: 'AI credits per 30 days', cell: ({ ai_credits }: Plan) => limit(ai_credits) },
      { title: 'Automation runs per 30 days', cell: ({ automation_runs }: Plan) => limit(automation_runs) },
    ],
  })
}

import type { Server } from '#flows/doctor/server.ts'
import { type Html, html } from '#web/html.ts'
import { empty, table } from '#web/layout/list.ts'
import { badge, count, time } from '#web/layout/parts.ts'
import type { Wire } from '#web/request/wire.ts'

type Shown = Wire<Server>
type Account = Shown['accounts'][number]
type Plan = Shown['plans'][number]

/** The accounts of the installation, which lead to their pages. */
export function accounts({ accounts: rows }: Shown): Html {
  return table({
    ...{ caption: 'Newest first', rows, empty: empty('There are no accounts.') },
    link: ({ id }: Account) => `/operator/accounts/${id}`,
    columns: [
      { title: 'Name', cell: ({ name }: Account) => name },
      { title: 'Plan', cell: ({ plan }: Account) => plan },
      { title: 'State', cell: ({ paused_at }: Account) => badge(paused_at ? 'paused' : 'active') },
      { title: 'Created', cell: ({ created_at }: Account) => time(created_at) },
      { title: 'Id', cell: ({ id }: Account) => html`<code>${id}</code>` },
    ],
  })
}

/** A table of the plans with their limits. Each leads to the form that changes it. */
export function plans({ plans: rows }: Shown): Html {
  const limit = (number: number | null) => (number === null ? 'no limit' : count(number))
  return table({
    ...{ caption: 'By name', rows, empty: empty('There are no plans.') },
    link: ({ name }: Plan) => `/operator/plan?${new URLSearchParams({ name })}`,
    columns: [
      { title: 'Name', cell: ({ name }: Plan) => name },
      { title: 'Emails in 24 hours', cell: ({ emails_per_day }: Plan) => limit(emails_per_day) },
      { title: 'Emails in 30 days', cell: ({ emails_per_month }: Plan) => limit(emails_per_month) },
      { title: 'Domains', cell: ({ domains }: Plan) => limit(domains) },
      { title: 'AI credits', cell: ({ ai_credits }: Plan) => limit(ai_credits) },
      { title: 'Automation runs', cell: ({ automation_runs }: Plan) => limit(automation_runs) },
    ],
  })
}

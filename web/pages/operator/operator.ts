import { pauseSending, readServer, resumeSending, type Server } from '#flows/doctor/server.ts'
import type { Finding } from '#lib/doctor/finding.ts'
import { type Html, html } from '#web/html.ts'
import { button, form } from '#web/layout/form.ts'
import { empty, table } from '#web/layout/list.ts'
import { badge, count, facts, linkButton, section, time, unicodeDomain } from '#web/layout/parts.ts'
import type { Form } from '#web/request/form.ts'
import { action, page, type Room, type Visit } from '#web/request/visit.ts'
import { type Wire, wire } from '#web/request/wire.ts'
import { accounts, plans } from './accounts.ts'
import { account, plan, planActions } from './plans.ts'
import { audit, requireOperator } from './rights.ts'

type ServerState = Wire<Server>
type Pause = ServerState['paused'][number]
type Worker = ServerState['workers'][number]

/** The state of the server, for operators. For all other members, the page does not exist. */
const operator = page('/operator', async visit => {
  requireOperator(visit)
  const server = wire(await readServer(visit.ctx))
  return {
    title: 'Operator',
    body: html`${section('Sending', pauses(visit, server))}
${section('Health checks', healthChecks(server.findings))}
<p><code>npm run doctor</code> also checks DNS, ports and the disk.</p>
${section('Workers and queue', workers(server))}
${section('Release', release(server))}
${section('Accounts', accounts(server))}
${section('Plans', html`${plans(server)}${visit.mayChange ? linkButton('/operator/plan', 'New plan') : ''}`)}`,
  }
})

function pauses(visit: Visit, { platform, paused }: ServerState): Html {
  const { paused_at, pause_reason } = platform
  const state = paused_at
    ? html`${badge('paused')} since ${time(paused_at)} ${pause_reason ?? ''} ${button(visit, '/operator/resume', 'Resume all sending')}`
    : html`${badge('active')}`
  return html`<p>This server: ${state}</p>
${table({
  ...{ caption: 'Paused accounts and domains', rows: paused, empty: html`<p>No accounts or domains are paused.</p>` },
  columns: [
    { title: 'Account', cell: ({ account }: Pause) => account },
    { title: 'Domain', cell: ({ domain }: Pause) => unicodeDomain(domain ?? 'all') },
    { title: 'Paused since', cell: ({ paused_at: at }: Pause) => time(at) },
    { title: 'Paused by', cell: ({ paused_by }: Pause) => paused_by },
    { title: 'Reason', cell: ({ pause_reason: reason }: Pause) => reason ?? '' },
    {
      title: 'Resume',
      cell: ({ account, domain }: Pause) =>
        button(visit, '/operator/resume', 'Resume', { values: { account, domain: domain ?? '' } }),
    },
  ],
})}
${form(visit, {
  ...{ action: '/operator/pause', submit: 'Pause sending', isDangerous: true },
  fields: [
    { name: 'account', label: 'Account', hint: 'Name or ID. Leave empty to pause the whole server.' },
    { name: 'domain', label: 'Domain', hint: 'Leave empty for all domains of the account.' },
    { name: 'reason', label: 'Reason', hint: 'Part of the error message that senders receive.' },
  ],
})}`
}

function healthChecks(rows: Finding[]): Html {
  const states = { ok: 'pass', warning: 'warning', problem: 'error', unknown: 'unknown' }
  return table({
    ...{ caption: 'Results', rows, empty: empty('No checks were made.') },
    columns: [
      { title: 'Check', cell: ({ check }) => check },
      { title: 'Status', cell: ({ level }) => badge(states[level]) },
      { title: 'Finding', cell: ({ finding }) => finding },
      { title: 'Fix', cell: ({ fix }) => (fix ? html`<code>${fix}</code>` : '') },
    ],
  })
}

function release({ version, migration }: ServerState): Html {
  const newest = migration && html`<code>${migration.name}</code>, applied ${time(migration.applied_at)}`
  return facts([
    ['Version', version],
    ['Newest migration', newest],
  ])
}

function workers({ queue, workers: rows }: ServerState): Html {
  return html`${facts([
    ['Oldest due email', time(queue.due_since, 'none')],
    ['Held deliveries in doubt', count(queue.held)],
  ])}
${table({
  ...{
    caption: 'Runners (each worker process has two)',
    rows,
    empty: empty('No workers are running, so no emails are sent.'),
  },
  columns: [
    { title: 'Runner', cell: ({ pool_id }: Worker) => html`<code>${pool_id}</code>` },
    { title: 'Last heartbeat', cell: ({ seen_at }: Worker) => time(seen_at) },
  ],
})}`
}

const readScope = (form: Form) => ({ account: form.text('account'), domain: form.text('domain') })

const auditTarget = (form: Form) => form.text('domain') || form.text('account') || 'all'

export const operatorRoom: Room = {
  pages: [operator, plan, account],
  actions: [
    ...planActions,
    action('/operator/pause', operator, async (visit, form) => {
      requireOperator(visit)
      await pauseSending(visit.ctx.pool, { ...readScope(form), reason: form.text('reason') })
      await audit(visit, 'sending pause', auditTarget(form))
      return { to: '/operator', notice: 'Sending paused.' }
    }),
    action('/operator/resume', operator, async (visit, form) => {
      requireOperator(visit)
      await resumeSending(visit.ctx.pool, readScope(form))
      await audit(visit, 'sending resume', auditTarget(form))
      return { to: '/operator', notice: 'Sending resumed.' }
    }),
  ],
}

import { pauseSending, readServer, resumeSending, type Server } from '#flows/doctor/server.ts'
import type { Finding } from '#lib/doctor/finding.ts'
import { type Html, html } from '#web/html.ts'
import { button, form } from '#web/layout/form.ts'
import { empty, table } from '#web/layout/list.ts'
import { badge, count, facts, linkButton, section, time } from '#web/layout/parts.ts'
import type { Form } from '#web/request/form.ts'
import { action, page, type Room, type Visit } from '#web/request/visit.ts'
import { type Wire, wire } from '#web/request/wire.ts'
import { accounts, plans } from './accounts.ts'
import { account, plan, planActions } from './plans.ts'
import { audit, requireOperator } from './rights.ts'

type Shown = Wire<Server>
type Paused = Shown['paused'][number]
type Worker = Shown['workers'][number]

/** The installation, for members who operate it; for all others there is no such page. */
const operator = page('/operator', async visit => {
  requireOperator(visit)
  const server = wire(await readServer(visit.ctx))
  return {
    title: 'Operator',
    body: html`${section('Sending', switches(visit, server))}
${section('Findings of the doctor', findings(server.findings))}
<p><code>npm run doctor</code> also looks at DNS, ports and the disk.</p>
${section('Workers and queue', workers(server))}
${section('Accounts', accounts(server))}
${section('Plans', html`${plans(server)}${visit.mayChange ? linkButton('/operator/plan', 'New plan') : ''}`)}`,
  }
})

function switches(visit: Visit, { platform, paused }: Shown): Html {
  const { paused_at, pause_reason } = platform
  const state = paused_at
    ? html`${badge('paused')} since ${time(paused_at)} ${pause_reason ?? ''} ${button(visit, '/operator/resume', 'Resume all sending')}`
    : html`${badge('active')}`
  return html`<p>The server: ${state}</p>
${table({
  ...{ caption: 'Paused accounts and domains', rows: paused, empty: html`<p>No account and no domain is paused.</p>` },
  columns: [
    { title: 'Account', cell: ({ account }: Paused) => account },
    { title: 'Domain', cell: ({ domain }: Paused) => domain ?? 'all' },
    { title: 'Since', cell: ({ paused_at: at }: Paused) => time(at) },
    { title: 'By', cell: ({ paused_by }: Paused) => paused_by },
    { title: 'Reason', cell: ({ pause_reason: reason }: Paused) => reason ?? '' },
    {
      title: 'Resume',
      cell: ({ account, domain }: Paused) =>
        button(visit, '/operator/resume', 'Resume', { values: { account, domain: domain ?? '' } }),
    },
  ],
})}
${form(visit, {
  ...{ action: '/operator/pause', submit: 'Pause sending', isDangerous: true },
  fields: [
    { name: 'account', label: 'Account', hint: 'Its name or id. Empty: all of this server.' },
    { name: 'domain', label: 'Domain', hint: 'Empty: all domains of the account.' },
    { name: 'reason', label: 'Reason', hint: 'Senders read it in the error that they get.' },
  ],
})}`
}

function findings(rows: Finding[]): Html {
  const states = { ok: 'pass', warning: 'warning', problem: 'error', unknown: 'unknown' }
  return table({
    ...{ caption: 'As of now', rows, empty: empty('Nothing was looked at.') },
    columns: [
      { title: 'Check', cell: ({ check }) => check },
      { title: 'Level', cell: ({ level }) => badge(states[level]) },
      { title: 'Finding', cell: ({ finding }) => finding },
      { title: 'What to do', cell: ({ fix }) => (fix ? html`<code>${fix}</code>` : '') },
    ],
  })
}

function workers({ queue, workers: rows }: Shown): Html {
  return html`${facts([
    ['Oldest email that is due', time(queue.due_since, 'none is due')],
    ['Messages in doubt that are held', count(queue.held)],
  ])}
${table({
  ...{
    caption: 'Runners of workers, of which each process has two',
    rows,
    empty: empty('No worker runs: nothing is sent.'),
  },
  columns: [
    { title: 'Runner', cell: ({ pool_id }: Worker) => html`<code>${pool_id}</code>` },
    { title: 'Last heartbeat', cell: ({ seen_at }: Worker) => time(seen_at) },
  ],
})}`
}

const named = (form: Form) => ({ account: form.text('account'), domain: form.text('domain') })

const targetOf = (form: Form) => form.text('domain') || form.text('account') || 'all'

export const operatorRoom: Room = {
  pages: [operator, plan, account],
  actions: [
    ...planActions,
    action('/operator/pause', operator, async (visit, form) => {
      requireOperator(visit)
      await pauseSending(visit.ctx.pool, { ...named(form), reason: form.text('reason') })
      await audit(visit, 'sending pause', targetOf(form))
      return { to: '/operator', notice: 'Sending is paused.' }
    }),
    action('/operator/resume', operator, async (visit, form) => {
      requireOperator(visit)
      await resumeSending(visit.ctx.pool, named(form))
      await audit(visit, 'sending resume', targetOf(form))
      return { to: '/operator', notice: 'Sending goes on.' }
    }),
  ],
}

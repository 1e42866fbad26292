import type { ListedLog, LogRecord } from '#sql/request_log/logs.ts'
import { html } from '#web/html.ts'
import { optionsOf } from '#web/layout/field.ts'
import { curl } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, copyable, facts, preformatted, section, time } from '#web/layout/parts.ts'
import { recordPage } from '#web/layout/record_page.ts'
import type { Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const CLASSES = ['2xx', '3xx', '4xx', '5xx']

const statusBadge = (status: number) => badge(status < 400 ? 'success' : 'error', String(status))

const logs = listPage<Wire<ListedLog>>({
  ...{ path: '/logs', title: 'Logs', operation: 'listLogs' },
  filters: [
    {
      ...{ name: 'method', label: 'Method', type: 'select' },
      options: [['', 'all'], ...optionsOf(METHODS)],
    },
    {
      ...{ name: 'status', label: 'Status', type: 'select' },
      options: [['', 'all'], ...optionsOf(CLASSES)],
    },
    { name: 'endpoint', label: 'Path starts with', placeholder: '/emails' },
    { name: 'q', label: 'Path or user agent contains', type: 'search' },
    { name: 'created_after', label: 'After', type: 'date' },
    { name: 'created_before', label: 'Before', type: 'date' },
  ],
  columns: [
    { title: 'Request', cell: ({ method, endpoint }) => `${method} ${endpoint}` },
    { title: 'Status', cell: ({ response_status }) => statusBadge(response_status) },
    { title: 'User agent', cell: ({ user_agent }) => user_agent },
    { title: 'Time', cell: ({ created_at }) => time(created_at) },
  ],
  empty: visit => ['No requests found. Make one:', curl(visit, 'GET', '/emails')],
})

const log = recordPage<Wire<LogRecord>>('/logs/:id', 'getLog', (found, visit) => {
  const { method, endpoint, response_status, user_agent, created_at, request_body, response_body } = found
  const body = request_body !== null && typeof request_body === 'object' ? request_body : undefined
  return {
    title: `${method} ${endpoint}`,
    actions: statusBadge(response_status),
    body: html`${facts([
      ['Time', time(created_at)],
      ['User agent', user_agent],
    ])}
${section('Request', bodyOf(request_body, 'Request body'))}
${section('Response', bodyOf(response_body, 'Response body'))}
${section(
  'Repeat with curl',
  html`<p>${copyable(curl(visit, method, endpoint, body), 'the curl command')}</p>
<p>The log does not contain secrets, query parameters and file contents. Add them before you run the command.</p>`,
)}`,
  }
})

function bodyOf(body: unknown, label: string) {
  if (body === null) return html`<p>No JSON body.</p>`
  return preformatted(JSON.stringify(body, null, 2), label)
}

export const logRoom: Room = { pages: [logs, log], actions: [] }

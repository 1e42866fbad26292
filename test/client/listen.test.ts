import { once } from 'node:events'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import t from 'tap'
import { insertLogs } from '#sql/request_log/logs.ts'
import { parse_email } from '#tasks/parse_email.ts'
import { CommandLine } from '#test/support/client/command_line.ts'
import { compose, receive, store } from '#test/support/receiving.ts'
import { ROOT } from '#test/support/root.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'

const SECRET = `whsec_${Buffer.alloc(24, 3).toString('base64')}`
const { hook, account, api, work, pg, add, announce } = await openHistory(t)
const shell = new CommandLine({ MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: api.url })

t.test('webhooks listen forwards new events, signed with its own secret', async t => {
  const { id } = await add(['*'])
  await announce(['email.sent'])
  const { child, output } = shell.start(t, ['webhooks', 'listen', id, '--forward', hook.url, '--secret', SECRET])
  await waitUntil(() => output().includes('Waiting for events'), 'it listens')
  // It reads existing events before it waits for new ones.
  await waitUntil(async () => (await countReads(id)) > 0, 'it has read the events there are')
  const [second, first] = (await announce(['email.delivered', 'email.bounced'])) as [string, string]
  const posted = [await hook.until(({ json }) => json.id === first), await hook.until(({ json }) => json.id === second)]
  t.strictSame(
    posted.map(({ json }) => json.type),
    ['email.delivered', 'email.bounced'],
  )
  for (const { body, headers, json } of posted) {
    t.strictSame(new StandardWebhook(SECRET).verify(body.toString(), headers as Record<string, string>), json)
    const verify = ['webhooks', 'verify', '--secret', SECRET]
    const given = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])
    shows(t, (await shell.run([...verify, ...given], body.toString())).lines, [json])
    const changed = await shell.run([...verify, ...given], `${body} `)
    shows(t, { code: changed.code, ...changed.error }, { code: 1, statusCode: null, name: 'invalid_signature' })
  }
  t.equal(hook.posted.filter(({ json }) => json.type === 'email.sent').length, 0, 'no older events')
  child.kill('SIGINT')
  t.strictSame(await once(child, 'exit'), [130, null])
})

t.test('logs tail and received listen print new items', async t => {
  const { child, output } = shell.start(t, ['logs', 'tail', '--failed'])
  await waitUntil(async () => {
    await api.request('GET', '/api/emails/01a20009-1136-75ca-8d25-9b84c176d8e8')
    return output().includes('01a20009-1136-75ca-8d25-9b84c176d8e8')
  }, 'the refused request')
  child.kill('SIGINT')
  await once(child, 'exit')
  for (const line of output().trim().split('\n')) shows(t, JSON.parse(line), { object: 'log', response_status: 404 })
})

t.test('logs tail prints a request that took minutes, and those that were logged with it', async t => {
  const insert = (...requests: { path: string; minutes?: number }[]) =>
    insertLogs(
      work.pool,
      requests.map(({ path, minutes = 0 }) => ({
        ...{ account_id: account.id, created_at: new Date(Date.now() - minutes * 60_000).toISOString() },
        ...{ method: 'POST', endpoint: `/tail/${path}`, response_status: 500, user_agent: 'x' },
        ...{ request_body: null, response_body: null },
      })),
    )
  await insert(...Array(50).fill({ path: 'earlier', minutes: 5 }))
  const { child, output } = shell.start(t, ['logs', 'tail', '--failed'])
  await waitUntil(async () => {
    await insert({ path: 'begin' })
    return output().includes('/tail/begin')
  }, 'it prints new requests')
  await insert({ path: 'short' }, { path: 'long', minutes: 5 })
  await waitUntil(() => output().includes('/tail/long'), 'the long request')
  await pg.query('DELETE FROM logs WHERE id IN (SELECT id FROM logs ORDER BY id LIMIT 45)')
  await insert({ path: 'end' })
  await waitUntil(() => output().includes('/tail/end'), 'the last request')
  child.kill('SIGINT')
  await once(child, 'exit')
  const endpoints = output()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).endpoint)
  t.strictSame(
    endpoints.filter(endpoint => endpoint !== '/tail/begin'),
    ['/tail/short', '/tail/long', '/tail/end'],
  )
})

t.test('received listen prints email that is parsed long after newer email', async t => {
  const envelope = { mail_from: 'x@y.com', received_for: [`me@${account.domain}`] }
  const late = await store(work, account, await compose({ subject: 'Late' }), envelope)
  await work.pool.pg.query(`UPDATE received_emails SET created_at = now() - interval '20 minutes' WHERE id = $1`, [
    late,
  ])
  const { child, output } = shell.start(t, ['received', 'listen', '--json'])
  await waitUntil(async () => {
    const { body } = await api.request('GET', '/api/logs?method=GET&endpoint=/emails/receiving')
    return (body.data as unknown as object[]).length > 0
  }, 'it has read the email there is')
  const prompt = await receive(work, account, await compose({ subject: 'Prompt' }))
  await waitUntil(() => output().includes(prompt), 'the newer email')
  await parse_email({ ids: [{ account_id: account.id, id: late }] }, work)
  await waitUntil(() => output().includes(late), 'the older email')
  child.kill('SIGINT')
  await once(child, 'exit')
  t.strictSame(
    output()
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).id),
    [prompt, late],
  )
})

t.test('mcp passes messages between a program and the server', async t => {
  const client = new Client({ name: 'test', version: '1' })
  const args = [join(ROOT, 'client/cli/main.ts'), 'mcp']
  const env = { PATH: process.env.PATH ?? '', MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: api.url }
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env }))
  t.ok((await client.listTools()).tools.length > 15)
  const { content } = await client.callTool({ name: 'list_domains', arguments: {} })
  const [{ text }] = content as [{ text: string }]
  shows(t, JSON.parse(text), { data: [{ name: account.domain }] })
  await client.close()

  const separated = JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'x\u2028y\u2029' })
  shows(t, (await shell.run(['mcp'], `${separated}\n`)).lines, [{ id: 9, error: { code: -32601 } }])

  // The other forms of the address that all commands accept.
  for (const end of ['/', '/api']) {
    const own = new CommandLine({ MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: `${api.url}${end}` })
    shows(t, (await own.run(['mcp'], '{"jsonrpc":"2.0","id":8,"method":"ping"}\n')).lines, [{ id: 8, result: {} }])
  }

  const nobody = new CommandLine({ MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: 'http://127.0.0.1:1' })
  const messages = [
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":7,"method":"ping"}',
    'x',
  ]
  const { lines, code } = await nobody.run(['mcp'], `${messages.join('\n')}\n`)
  t.equal(code, 0)
  shows(
    t,
    lines.toSorted((one, other) => Number(other.id) - Number(one.id)),
    [
      { id: 7, error: { code: -32000 } },
      { id: null, error: { code: -32000 } },
    ],
  )
})

/** How often the events of the webhook were listed. */
async function countReads(id: string): Promise<number> {
  const { body } = await api.request('GET', '/api/logs?limit=100')
  const logs = body.data as unknown as { endpoint: string; method: string }[]
  return logs.filter(({ endpoint, method }) => method === 'GET' && endpoint.includes(`/webhooks/${id}/events`)).length
}

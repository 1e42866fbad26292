import { once } from 'node:events'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import t from 'tap'
import { CommandLine } from '#test/support/client/command_line.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'

const SECRET = `whsec_${Buffer.alloc(24, 3).toString('base64')}`
const { hook, account, api, add, announce } = await openHistory(t)
const shell = new CommandLine({ MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: api.url })

t.test('webhooks listen posts new events to a server nearby, signed with a secret of its own', async t => {
  const { id } = await add(['*'])
  await announce(['email.sent'])
  const { child, output } = shell.start(t, ['webhooks', 'listen', id, '--forward', hook.url, '--secret', SECRET])
  await waitUntil(() => output().includes('Waiting for events'), 'it listens')
  // It reads what is there before it waits for more.
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
  t.equal(hook.posted.filter(({ json }) => json.type === 'email.sent').length, 0, 'nothing from before')
  child.kill('SIGINT')
  t.strictSame(await once(child, 'exit'), [130, null])
})

t.test('logs tail and received listen print what comes', async t => {
  const { child, output } = shell.start(t, ['logs', 'tail', '--failed'])
  await waitUntil(async () => {
    await api.request('GET', '/api/emails/01a20009-1136-75ca-8d25-9b84c176d8e8')
    return output().includes('01a20009-1136-75ca-8d25-9b84c176d8e8')
  }, 'the refused request')
  child.kill('SIGINT')
  await once(child, 'exit')
  for (const line of output().trim().split('\n')) shows(t, JSON.parse(line), { object: 'log', response_status: 404 })
})

/** How often the events of a webhook were listed. */
async function countReads(id: string): Promise<number> {
  const { body } = await api.request('GET', '/api/logs?limit=100')
  const logs = body.data as unknown as { endpoint: string; method: string }[]
  return logs.filter(({ endpoint, method }) => method === 'GET' && endpoint.includes(`/webhooks/${id}/events`)).length
}

import t from 'tap'
import { runChecks } from '#lib/doctor/finding.ts'
import { serviceChecks } from '#lib/doctor/services.ts'
import { ALLOWED, startServer, startTcpServer } from '#test/support/http/fetching.ts'
import { startS3Server } from '#test/support/http/s3_server.ts'
import { shows } from '#test/support/shows.ts'
import { testConfig } from '#test/support/world.ts'

const examine = (more: Record<string, string>) =>
  runChecks(serviceChecks(testConfig('postgres://nobody@127.0.0.1/none', more)), 8_000)

t.test('services that are not configured are not checked', async t => {
  t.strictSame(await examine({}), [])
})

t.test('a bucket must respond, exist and accept the key', async t => {
  const server = await startS3Server(t)
  const check = (BLOB_STORE: string) => examine({ BLOB_STORE })
  shows(t, await check(server.url), [{ check: 'BLOB_STORE', level: 'ok' }])
  t.strictSame(server.objects.size, 0)
  const wrong = server.url.replace(/:[^:]*@/, ':wrong@')
  shows(t, await check(wrong), [{ level: 'problem', finding: /SignatureDoesNotMatch/ }])
  shows(t, await check(server.url.replace('blobs', 'others')), [{ level: 'problem', finding: /NoSuchBucket/ }])
  server.refuse(/^GET/, 403, 'AccessDenied')
  shows(t, await check(server.url), [{ level: 'unknown', finding: /does not say/ }])
  const gone = server.url.replace(/\d+$/, '1')
  shows(t, await check(gone), [{ level: 'problem', finding: /ECONNREFUSED/ }])
})

t.test('rspamd, clamd and the AI service must do their work', async t => {
  let isWell = true
  const http = await startServer(t, ({ url = '' }, response) => {
    const content = url.endsWith('/checkv2')
      ? { action: 'no action' }
      : { choices: [{ message: { content: 'interested' } }] }
    response.writeHead(isWell ? 200 : 401).end(JSON.stringify(content))
  })
  const clamd = await startTcpServer(t, socket => {
    socket.on('data', () => socket.end(isWell ? 'stream: OK\0' : 'INSTREAM size limit exceeded. ERROR\0'))
  })
  const services = {
    RSPAMD_URL: `http://${ALLOWED}:${http}`,
    CLAMAV: `tcp:${ALLOWED}:${clamd}`,
    AI_URL: `http://${ALLOWED}:${http}/v1`,
    AI_MODEL: 'small',
  }
  const names = ['RSPAMD_URL', 'CLAMAV', 'AI_URL']
  shows(
    t,
    await examine(services),
    names.map(check => ({ check, level: 'ok' })),
  )
  isWell = false
  shows(t, await examine(services), [
    { level: 'warning', finding: /401/ },
    { level: 'warning', finding: /size limit/ },
    { level: 'warning', finding: /401/ },
  ])
})

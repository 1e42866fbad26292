import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { watchCertificate } from '#lib/receiving/smtp/certificate.ts'
import { startReceiving } from '#test/support/database/states.ts'
import { shows } from '#test/support/shows.ts'
import { openClient } from '#test/support/smtp/smtp_client.ts'
import { certificates } from '#test/support/tls/certificates.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const directory = await mkdtemp(join(tmpdir(), 'mailbrook-tls-'))
t.teardown(() => rm(directory, { recursive: true }))
const files = { cert: join(directory, 'tls.crt'), key: join(directory, 'tls.key') }
// A file watched twice is polled at the interval of the first watcher, so the test of reloading has its own files.
const watched = { cert: join(directory, 'watched.crt'), key: join(directory, 'watched.key') }
const write = async ({ cert, key }: { cert: string; key: string }, to = files) => {
  await writeFile(to.cert, cert)
  await writeFile(to.key, key)
}
await write(certificates.one)
await write(certificates.one, watched)

const world = await openWorld(t, {
  SMTP_PORT: '0',
  SMTP_GREETING_DELAY_MS: '0',
  SMTP_TLS_CERT: files.cert,
  SMTP_TLS_KEY: files.key,
})
const account = await newAccount(world)
await startReceiving(world, account.domain_id)
const { port, stop } = await startSmtp(world)
t.teardown(stop)

t.test('STARTTLS uses the certificate of the operator', async t => {
  const client = await openClient(t, port)
  t.match(client.heard, /^250.STARTTLS\r$/m)
  t.match(await client.command('STARTTLS'), /^220 /)
  await client.upgrade()
  t.equal((client.socket as TLSSocket).getPeerX509Certificate()?.subject, 'CN=one.mailbrook.test')
  t.match(await client.command('MAIL FROM:<a@y.com>'), /^503 /, 'EHLO must be sent again')
  t.notMatch(await client.command('EHLO again.test'), /STARTTLS/)
  t.match(await client.send(`a@${account.domain}`, 'x: y\r\n\r\n'), /^250 /)
  const { rows } = await world.pool.pg.query('SELECT client FROM received_emails')
  shows(t, rows, [{ client: { helo: 'again.test', tls: 'TLSv1.3' } }])
})

t.test('plain text after STARTTLS is discarded (command injection)', async t => {
  const injected = `EHLO evil\r\nMAIL FROM:<evil@y.com>\r\nRCPT TO:<evil@${account.domain}>\r\n`
  for (const more of [injected, injected.repeat(60), 'MAIL FR']) {
    const client = await openClient(t, port)
    client.write(`STARTTLS\r\n${more}`)
    t.match(await client.reply(), /^220 /)
    const before = client.heard
    await client.upgrade()
    t.match(await client.command('NOOP'), /^250 .*OK/)
    t.match(await client.command('DATA'), /^503 /)
    t.notMatch(client.heard.slice(before.length), /Accepted|evil/)
  }
})

t.test('a client that closes its side of the connection after QUIT, as Exim does, gets all replies', async t => {
  for (const isSecure of [false, true]) {
    const client = await openClient(t, port)
    if (isSecure) {
      await client.command('STARTTLS')
      await client.upgrade()
      await client.command('EHLO client.test')
    }
    await client.begin(`a@${account.domain}`)
    client.socket.end('Subject: a\r\n\r\nb\r\n.\r\nQUIT\r\n')
    t.equal(await client.reply(), '250 2.0.0 Stored')
    t.equal(await client.reply(), '221 2.0.0 Bye')
    await client.ended()
  }
})

t.test('a client that closes its side of the connection at any other time is disconnected', async t => {
  for (const begun of ['', 'NOOP\r\n', 'STARTTLS\r\n', 'MAIL FROM:<a@y.com>\r\n', 'QUI']) {
    const client = await openClient(t, port)
    client.socket.end(begun)
    await client.ended()
  }
  const client = await openClient(t, port)
  await client.begin(`cut@${account.domain}`)
  client.socket.end('Subject: a\r\n\r\nb')
  await client.ended()
  const { rows } = await world.pool.pg.query(`SELECT 1 FROM received_emails WHERE $1 = ANY (received_for)`, [
    `cut@${account.domain}`,
  ])
  t.strictSame(rows, [])
})

t.test('a changed certificate is reloaded, and kept while its files do not match', async t => {
  const changes: string[] = []
  const failures: unknown[] = []
  const watch = watchCertificate(
    watched,
    ({ cert }) => changes.push(cert.toString()),
    error => failures.push(error),
    20,
  )
  t.teardown(() => watch.stop())
  await writeFile(watched.cert, certificates.two.cert)
  await waitUntil(() => failures.length > 0, 'the mismatch of the files is noticed')
  t.match(failures[0], { message: /^SMTP_TLS_CERT and SMTP_TLS_KEY \(.+\) cannot be used: .*key values mismatch/ })
  t.strictSame(changes, [])
  await write(certificates.two, watched)
  await waitUntil(() => changes.length > 0, 'the certificate is read again')
  t.equal(changes[0], certificates.two.cert)
})

t.test('an invalid certificate prevents the start', async t => {
  await write({ ...certificates.one, key: certificates.two.key })
  await t.rejects(startSmtp(world), { message: /^SMTP_TLS_CERT and SMTP_TLS_KEY .+ cannot be used/ })
  await rm(files.key)
  await t.rejects(startSmtp(world), { message: /ENOENT/ })
})

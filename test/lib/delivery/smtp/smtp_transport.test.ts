import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createSmtpTransport, relayServer } from '#lib/delivery/smtp/transport.ts'
import type { Outcome, Transport } from '#lib/delivery/transport.ts'
import { type Sink, type SinkOptions, startSink } from '#test/faults/support/sink.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const TIMEOUTS = { connect: 2_000, message: 2_000, dot: 2_000 }
const never = new AbortController().signal

t.test('a connection is reused for up to 100 messages', async t => {
  const { sink, transport } = await open(t)
  for (let i = 0; i < 150; i++) shows(t, await send(transport, `ok-${i}`), { outcome: 'delivered' })
  t.match(sink, { messages: 150, connections: 2 })

  await Promise.all(Array.from({ length: 5 }, (_, i) => send(transport, `ok-${i}`)))
  t.match(sink, { messages: 155, connections: 6 })
})

t.test('a rejection keeps the connection, and 421 closes it', async t => {
  const { sink, transport } = await open(t)
  for (const refused of ['perm-550', 'tmp-451', 'data-554', 'data-451']) {
    t.match(await send(transport, refused), { reply: `${refused.slice(-3)} As you asked` })
    shows(t, await send(transport, 'ok'), { outcome: 'delivered' })
  }
  t.equal(sink.connections, 1)
  for (const ended of ['421', 'data-421', 'garbage']) {
    shows(t, await send(transport, ended), { outcome: 'deferred' })
    shows(t, await send(transport, 'ok'), { outcome: 'delivered' })
  }
  t.match(sink, { messages: 7, connections: 4 })
})

t.test('a reused connection that replies 421 is replaced once', async t => {
  let connections = 0
  let mails = 0
  const busy = Object.assign(new Error('4.7.0 Enough'), { responseCode: 421 })
  const inbox = await startInbox(t, {
    onConnect: (_session, callback) => {
      connections++
      callback()
    },
    onMailFrom: (_address, _session, callback) => callback([2, 4, 5].includes(++mails) ? busy : null),
  })
  const transport = createSmtpTransport(relayServer(inbox.url, 'me.test'), TIMEOUTS, 5)
  t.teardown(() => transport.close())

  shows(t, await send(transport, 'ann'), { outcome: 'delivered' })
  shows(t, await send(transport, 'ann'), { outcome: 'delivered' }, 'in spite of the 421')
  t.equal(connections, 2)
  shows(t, await send(transport, 'ann'), { outcome: 'deferred', reply: '421 4.7.0 Enough' }, 'the new one ends as well')
  shows(t, [connections, mails, inbox.messages.length], [3, 5, 2])
})

t.test('a reused connection that the server drops is replaced once', async t => {
  let mails = 0
  const server = createServer(socket => {
    socket.write('220 hi\r\n')
    socket.on('data', data => {
      const text = data.toString()
      if (text.startsWith('MAIL') && ++mails === 2) socket.destroy()
      else if (text.startsWith('DATA')) socket.write('354 go\r\n')
      else if (/^(?:EHLO|MAIL|RCPT|QUIT)|^\.\r\n$/m.test(text)) socket.write('250 ok\r\n')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const transport = createSmtpTransport(relayServer(`smtp://127.0.0.1:${port}`, 'me.test'), TIMEOUTS, 5)
  t.teardown(() => transport.close())
  shows(t, await send(transport, 'ann'), { outcome: 'delivered' })
  shows(t, await send(transport, 'ann'), { outcome: 'delivered' })
  t.equal(mails, 3)
})

t.test('a message begun on a reused connection is not sent again on another', async t => {
  const { sink, transport } = await open(t)
  await send(transport, 'ok')
  shows(t, await send(transport, 'drop-pre-dot'), { outcome: 'deferred' })
  t.equal(sink.connections, 1)
  await send(transport, 'ok')
  shows(t, await send(transport, 'dribble'), { outcome: 'deferred', reason: /no reply in 2 s/ })
  t.match(sink, { connections: 2, messages: 2 })
})

t.test('idle connections are closed', async t => {
  let closed = 0
  const inbox = await startInbox(t, { onClose: () => closed++ })
  const transport = createSmtpTransport(relayServer(inbox.url, 'me.test'), TIMEOUTS, 5)
  await send(transport, 'ann')
  await waitUntil(() => closed > 0, 'the connection is closed')
  t.equal(closed, 1, 'after a while')

  await send(transport, 'ann')
  transport.close()
  await waitUntil(() => closed > 1, 'the other connection is closed')
  t.equal(closed, 2, 'at once when it closes')
})

t.test('closing the transport leaves a message after its final dot in doubt', async t => {
  const { sink, transport } = await open(t)
  const waiting = send(transport, 'hang-post-dot')
  await waitUntil(() => sink.messages > 0, 'the message has arrived')
  transport.close()
  shows(t, await waiting, { outcome: 'in_doubt', reason: /closed/ })
})

t.test('the transport pauses after five failed connections', async t => {
  const { sink, transport } = await open(t, { greeting: '421 4.3.2 Busy' })
  const reason = `No connection to 127.0.0.1:${sink.port}: Invalid greeting. response=421 4.3.2 Busy: 421 4.3.2 Busy`
  const unreached = { outcome: 'deferred', class: 'infrastructure', is_about_server: true }
  for (let i = 0; i < 5; i++) {
    t.strictSame(await send(transport, 'ok'), { ...unreached, reason, reply: '421 4.3.2 Busy' })
  }
  t.strictSame(await send(transport, 'ok'), {
    ...unreached,
    reason: `Not tried after 5 failures in a row. ${reason}`,
  })
  t.equal(sink.connections, 5)
})

t.test('relayServer parses the URL of a relay', t => {
  const read = (url: string) => relayServer(url, 'me.test')
  const plain = { host: 'relay.com', port: 25, secure: false, via: 'relay', helo_name: 'me.test', auth: undefined }
  t.match(read('smtp://relay.com'), { ...plain, require_tls: false, ignore_tls: false })
  t.match(read('smtps://relay.com'), { port: 465, secure: true })
  t.match(read('smtp://a%40b:c%2F%3A@relay.com:587'), { port: 587, auth: { user: 'a@b', pass: 'c/:' } })
  t.match(read('smtp://relay.com?requireTLS=true'), { require_tls: true })
  t.match(read('smtp://relay.com?tls.rejectUnauthorized=false'), { tls: { rejectUnauthorized: false } })
  t.end()
})

async function open(t: Test, options: SinkOptions = {}): Promise<{ sink: Sink; transport: Transport }> {
  const sink = await startSink(options)
  const transport = createSmtpTransport(relayServer(sink.url, 'me.test'), TIMEOUTS, 5)
  t.teardown(() => transport.close())
  t.teardown(() => sink.close())
  return { sink, transport }
}

function send(transport: Transport, local: string): Promise<Outcome> {
  const message = { bytes: Buffer.from('Subject: x\r\n\r\nx\r\n') }
  const route = { tls: 'opportunistic' as const, transport: null }
  const ids = { ...route, account_id: '1', delivery_id: '2', mail_from: 'b@x.com', recipient: `${local}@y.com` }
  return transport.deliver({ ...ids, message, fence: () => sleep(5, true), signal: never })
}

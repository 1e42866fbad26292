import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { parseNetworks } from '#lib/net/client_address.ts'
import { publishMx } from '#test/support/dns/mail_hosts.ts'
import { HAS_IPV6 } from '#test/support/http/fetching.ts'
import { shows } from '#test/support/shows.ts'
import { openDirect } from '#test/support/smtp/direct.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { CERTIFICATE, KEY } from '#test/support/tls/certificate.ts'

const world = await openDirect(t)
const { zone, hosts, send } = world
publishMx(zone, 'to.com', 72)

/** The reply of a server to a line (`` is the connection); undefined: the usual reply, null: none. */
type Script = (line: string, socket: Socket) => string | null | undefined
const PLEASING: Record<string, string> = { '': '220 hi', DATA: '354 Go', '.': '250 2.0.0 Ok', QUIT: '221 Bye' }

/** Tries to send the message to a server on 127.0.0.72. */
async function trySend(t: Test, script: Script, outgoing = {}) {
  const { lines, close, count } = await startScript(t, script)
  const transport = world.transport()
  const first = await send(transport, 'ann@to.com', outgoing)
  const next = await send(transport, 'ann@to.com')
  transport.close()
  await close()
  return { first, next, lines, connections: count() }
}

t.test('a server that resets the connection counts as unreachable, at any command', async t => {
  for (const at of ['', 'EHLO', 'MAIL', 'RCPT', 'DATA']) {
    const { first } = await trySend(t, (line, socket) => {
      if (!begins(line, at)) return undefined
      socket.write(at === '' ? '220 hi\r\n' : '', () => socket.resetAndDestroy())
      return null
    })
    shows(t, first, { outcome: 'deferred', class: 'infrastructure' }, at)
  }
})

t.test('at most a megabyte is read of endless lines and replies', async t => {
  for (const at of ['', 'EHLO', 'MAIL', 'RCPT', 'DATA', '.']) {
    for (const text of ['2'.repeat(1 << 16), '250-more\r\n'.repeat(6_000)]) {
      let written = 0
      const { first } = await trySend(t, (line, socket) => {
        if (!begins(line, at)) return undefined
        const pour = () => {
          while (socket.writable && written < 1 << 30 && socket.write(text)) written += text.length
        }
        socket.on('drain', pour)
        pour()
        return null
      })
      const outcome = at === '.' ? 'in_doubt' : 'deferred'
      t.match(first, { outcome, reason: /too large|too long|exceed|larger|limit/i }, `${text.slice(0, 8)} at ${at}`)
      t.ok(written < 16 << 20, `${written} bytes`)
    }
  }
})

t.test('a message larger than the SIZE of the server is not sent', async t => {
  const large = { message: { bytes: Buffer.from(`Subject: x\r\n\r\n${'x'.repeat(2_000)}\r\n`) } }
  const { first, next, lines } = await trySend(
    t,
    line => (begins(line, 'EHLO') ? '250-hi\r\n250 SIZE 1000' : undefined),
    large,
  )
  shows(t, first, { outcome: 'failed', class: 'size', bounce: { type: 'Transient', subType: 'MessageTooLarge' } })
  shows(t, next, { outcome: 'delivered' }, 'and the connection is as good as new')
  t.strictSame(
    lines.filter(line => /^(?:EHLO|MAIL|DATA)/.test(line)),
    ['EHLO me.test', 'MAIL FROM:<b@me.test> SIZE=17', 'DATA'],
  )
})

t.test('a server that closes after each message gets each one without a retry', async t => {
  for (const last of ['250 2.0.0 Ok', '250 2.0.0 Ok\r\n421 4.4.2 Enough']) {
    const { first, next, connections } = await trySend(t, (line, socket) => {
      if (line !== '.') return undefined
      socket.end(`${last}\r\n`)
      return null
    })
    shows(t, [first, next], [{ outcome: 'delivered' }, { outcome: 'delivered' }], last)
    t.equal(connections, 2)
  }
})

t.test('HELO is used without TLS when the server refuses EHLO', async t => {
  for (const reply of ['502 5.5.1 What?', '554 No', '451 4.3.0 Not now']) {
    const { first, lines } = await trySend(t, line => (begins(line, 'EHLO') ? reply : undefined))
    shows(t, first, { outcome: 'delivered' }, reply)
    t.strictSame(lines.slice(0, 2), ['EHLO me.test', 'HELO me.test'])
    const { first: strict } = await trySend(t, line => (begins(line, 'EHLO') ? reply : undefined), { tls: 'enforced' })
    shows(t, strict, { outcome: 'deferred', class: 'infrastructure' }, reply)
  }
})

t.test('outdated TLS counts as no TLS', async t => {
  publishMx(zone, 'old.com', 73)
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  const inbox = await startInbox(t, {
    host: '127.0.0.73',
    port: hosts.port,
    starttls: true,
    key: KEY,
    cert: CERTIFICATE,
    ...old,
  })
  shows(t, await send(world.transport(), 'ann@old.com', { tls: 'enforced' }), {
    outcome: 'deferred',
    reason: /^TLS is required here\. .*(?:version|protocol)/i,
  })
  shows(t, await send(world.transport(), 'ann@old.com'), { outcome: 'delivered' })
  t.equal(inbox.messages.length, 1)
})

t.test('MX hosts with international names and CNAMEs are found', async t => {
  await hosts.start(74)
  zone['xn--bcher-kva.com'] = { MX: ['10 xn--mx-xka.xn--bcher-kva.com'] }
  zone['xn--mx-xka.xn--bcher-kva.com'] = { CNAME: ['real.to.com'] }
  zone['real.to.com'] = { A: ['127.0.0.74'] }
  shows(t, await send(world.transport(), 'ann@xn--bcher-kva.com'), { outcome: 'delivered' })
})

t.test('a host with only an IPv6 address is reached', { skip: !HAS_IPV6 }, async t => {
  zone['six.com'] = { MX: ['10 mx.six.com'] }
  zone['mx.six.com'] = { AAAA: ['::1'] }
  const before = hosts.heard()
  const outcome = await send(world.transport({ policy: { allowed: parseNetworks('::1') } }), 'ann@six.com')
  shows(t, outcome, { outcome: 'deferred', reason: /\[::1\]/ }, 'by who hangs up')
  t.equal(hosts.heard(), before + 1)
})

async function startScript(t: Test, script: Script) {
  const lines: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer(socket => {
    connections++
    sockets.add(socket)
    let isContent = false
    const answer = (line: string) => {
      const isCommand = !isContent || line === '.'
      isContent = line === 'DATA' || (isContent && line !== '.')
      const verb = /^[A-Z]{4}/.exec(line)?.[0] ?? line
      const reply = isCommand ? script(line, socket) : null
      if (reply !== null && socket.writable) socket.write(`${reply ?? PLEASING[verb] ?? '250 Ok'}\r\n`)
    }
    socket.on('error', () => {})
    answer('')
    createInterface(socket)
      .on('error', () => {})
      .on('line', line => {
        lines.push(line)
        answer(line)
      })
  }).listen(hosts.port, '127.0.0.72')
  await once(server, 'listening')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    if (server.listening) await once(server.close(), 'close')
  }
  t.teardown(close)
  return { lines, close, count: () => connections }
}

function begins(line: string, at: string): boolean {
  return at === '' ? line === '' : line.startsWith(at)
}

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { SmtpSession } from '#lib/delivery/smtp/session.ts'
import type { Outgoing } from '#lib/delivery/transport.ts'
import { shows } from '#test/support/shows.ts'

const TIMEOUTS = { connect: 400, message: 600, dot: 400 }

/** The reply of a server to a line: null for none, undefined for the usual one. */
type Script = (line: string, socket: Socket) => string | null | undefined | Promise<string>
const PLEASING: Record<string, string> = { DATA: '354 Go', '.': '250 2.0.0 Queued' }

t.test('a session sends the commands of SMTP and doubles leading dots', async t => {
  const server = await startScript(t)
  const session = await server.open()
  const outcome = await session.send(outgoing({ message: { bytes: Buffer.from('A: b\r\n\r\n.x\r\n') } }))
  t.strictSame(outcome, { outcome: 'delivered', reply: '250 2.0.0 Queued', via: 'relay' })
  const commands = ['EHLO me.test', 'MAIL FROM:<b@x.com>', 'RCPT TO:<a@y.com>', 'DATA', 'A: b', '', '..x', '.']
  t.strictSame(server.lines, commands)
  t.strictSame(await session.send(outgoing()), outcome, 'and again on the same connection')
})

t.test('quit sends QUIT and closes, even without a reply', async t => {
  for (const answer of ['221 Bye', null]) {
    const server = await startScript(t, line => (line === 'QUIT' ? answer : undefined))
    const session = await server.open({ ...TIMEOUTS, dot: 600_000 })
    session.quit()
    t.notOk(session.isOpen)
    await server.closed
    t.strictSame(server.lines, ['EHLO me.test', 'QUIT'])
  }
})

t.test('a session does not send the final dot when the fence fails', async t => {
  const reason = /^The message was not ended: (the lease was lost|no \? database)$/
  for (const fence of [async () => false, () => Promise.reject(new Error('no \0 database'))]) {
    const server = await startScript(t)
    const session = await server.open()
    shows(t, await session.send(outgoing({ fence })), { outcome: 'released', reason })
    await server.closed
    t.notOk(server.lines.includes('.'))
  }
})

t.test('a connection that closes together with the reply of the fence leaves no message in doubt', async t => {
  let peer: Socket | undefined
  const server = await startScript(t, (line, socket) => {
    if (line === 'DATA') peer = socket
    return undefined
  })
  const session = await server.open()
  const fence = async () => {
    await nextTurn()
    peer?.destroy() // its end is noticed in the next turn
    return true
  }
  shows(t, await session.send(outgoing({ fence })), { outcome: 'deferred', class: 'infrastructure' })
  t.notOk(server.lines.includes('.'))
})

t.test('a session asks for the fence after the server has read the message', async t => {
  const order: string[] = []
  const server = await startScript(t, (line, socket) => {
    if (line !== 'DATA') return undefined
    socket.pause()
    setTimeout(() => socket.resume() && order.push('taken'), 300)
    return '354 Go'
  })
  const session = await server.open({ ...TIMEOUTS, message: 10_000, dot: 10_000 })
  const message = Buffer.alloc(12 << 20, `${'x'.repeat(70)}\r\n`)
  const sent = session.send(outgoing({ message: { bytes: message }, fence: async () => order.push('fence') > 0 }))
  shows(t, await sent, { outcome: 'delivered' })
  t.strictSame(order, ['taken', 'fence'])
})

t.test('sending a large message leaves turns of the event loop to others', async t => {
  const server = await startScript(t)
  const session = await server.open({ connect: 60_000, message: 60_000, dot: 60_000 })
  const message = Buffer.alloc(4 << 20, `${'x'.repeat(998)}\r\n`)
  let isSent = false
  const sent = session.send(outgoing({ message: { bytes: message } })).finally(() => {
    isSent = true
  })
  let turns = 0
  for (; !isSent; turns++) await nextTurn()
  shows(t, await sent, { outcome: 'delivered' })
  t.ok(turns >= 64, `${turns} turns for 64 slices`)
})

t.test('a rejection during the message counts, and the connection is not reused', async t => {
  const server = await startScript(t, line => (line === 'Subject: x' ? '552 5.3.4 Big' : undefined))
  const session = await server.open()
  const reason = 'The receiver refused the message for its size.'
  const outcome = await session.send(outgoing({ fence: () => sleep(100, true) }))
  shows(t, outcome, { outcome: 'failed', reason, reply: '552 5.3.4 Big', class: 'size' })
  t.notOk(session.isOpen)
  await server.closed
  await sleep(150)
  t.notOk(server.lines.includes('.') || server.lines.includes('RSET'), 'the rest of the message is not sent')
})

t.test('a refusal counts even if the server then closes the connection or falls silent', async t => {
  const bounced = { outcome: 'bounced', reply: '550 5.1.1 No such user' }
  const blocked = { outcome: 'failed', reply: '554 5.7.1 Blocked', class: 'policy' }
  const deferred = { outcome: 'deferred', reply: '451 4.7.1 Greylisted', is_about_server: undefined }
  const cases = [
    ['RCPT', bounced],
    ['RCPT', deferred],
    ['MAIL', blocked],
    ['.', blocked],
  ] as const
  for (const ehlo of ['250 script', '250-script\r\n250 PIPELINING']) {
    for (const [at, refused] of cases) {
      for (const last of ['reply', 'close', 'half a line and close']) {
        if (last === 'half a line and close' && at !== '.') continue
        let isRefused = false
        const server = await startScript(t, (line, socket) => {
          if (line.startsWith('EHLO')) return ehlo
          if (isRefused) return null
          if (!line.startsWith(at)) return undefined
          isRefused = true
          if (last === 'half a line and close') socket.end(refused.reply)
          else if (last === 'close') setImmediate(() => socket.end())
          return last === 'half a line and close' ? null : refused.reply
        })
        const session = await server.open()
        shows(t, await session.send(outgoing()), refused, JSON.stringify({ ehlo, at, last }))
        t.notOk(session.wasStale)
        session.close()
      }
    }
  }
})

t.test('a server that replies twice to a message does not get the next one on that connection', async t => {
  for (const ehlo of ['250 script', '250-script\r\n250 PIPELINING']) {
    for (const surplus of [1, 2, 3]) {
      let mails = 0
      const server = await startScript(t, line => {
        if (line.startsWith('EHLO')) return ehlo
        const isSecond = line.startsWith('MAIL') && ++mails === 2
        return isSecond ? `${'250 2.0.0 Queued\r\n'.repeat(surplus)}250 Ok` : undefined
      })
      const session = await server.open()
      shows(t, await session.send(outgoing()), { outcome: 'delivered' })
      const outcome = await session.send(outgoing({ fence: () => Promise.reject(new Error('asked for the fence')) }))
      const reason = 'The connection to 127.0.0.1 failed: the replies of the server do not match our commands'
      shows(t, outcome, { outcome: 'deferred', class: 'infrastructure', reason }, JSON.stringify({ ehlo, surplus }))
      shows(t, session, { wasStale: true, isOpen: false })
    }
  }
})

t.test('RSET ends a refused message before the next one', async t => {
  let rcpts = 0
  const server = await startScript(t, line => (line.startsWith('RCPT') && ++rcpts === 1 ? '550 No' : undefined))
  const session = await server.open()
  shows(t, await session.send(outgoing()), { outcome: 'bounced' })
  shows(t, await session.send(outgoing()), { outcome: 'delivered' })
  const [mail, rcpt] = ['MAIL FROM:<b@x.com>', 'RCPT TO:<a@y.com>']
  const second = [mail, rcpt, 'DATA', 'Subject: x', '', 'x', '.']
  t.strictSame(server.lines, ['EHLO me.test', mail, rcpt, 'RSET', ...second])
})

t.test('a message is not delivered if the server accepts it before its end', async t => {
  const server = await startScript(t, line => (line.startsWith('Subject') ? '250 2.0.0 Queued' : undefined))
  const session = await server.open()
  const outcome = await session.send(outgoing({ fence: () => sleep(200, true) }))
  const reason = 'The connection to 127.0.0.1 failed: the server replied before the message had ended'
  shows(t, outcome, { outcome: 'deferred', class: 'infrastructure', reason })
  await server.closed
  t.notOk(server.lines.includes('.'))
})

t.test('a server that asks for the content with 250 gets it', async t => {
  const server = await startScript(t, line => (line === 'DATA' ? '250 Go' : undefined))
  const session = await server.open()
  shows(t, await session.send(outgoing()), { outcome: 'delivered' })
})

t.test('abort ends the session at once before the final dot, and after it waits for the reply', async t => {
  for (const [at, outcome] of Object.entries({
    RCPT: 'released',
    DATA: 'released',
    RSET: 'bounced',
    '.': 'delivered',
  })) {
    const stop = new AbortController()
    const server = await startScript(t, line => {
      if (at === 'RSET' && line.startsWith('RCPT')) return '550 No'
      if (!line.startsWith(at)) return undefined
      setTimeout(() => stop.abort(), 10)
      return at === '.' ? sleep(100, '250 Late') : null
    })
    const session = await server.open({ connect: 60_000, message: 60_000, dot: 60_000 })
    t.match(await session.send(outgoing({ signal: stop.signal })), { outcome })
    session.close()
  }
  await t.rejects((await startScript(t)).open(TIMEOUTS, AbortSignal.abort()), { message: /: stopped$/ })
})

t.test('an attempt ends at its deadline, however slowly the server replies', async t => {
  const attempt = async (text: string, at: string) => {
    const server = await startScript(t, (line, socket) => {
      if (!line.startsWith(at)) return undefined
      const timer = setInterval(() => socket.write(text), 20)
      socket.once('close', () => clearInterval(timer))
      return null
    })
    // The socket timeout is dot and message together: far from either alone, even when timers run late.
    const told = await server.open({ ...TIMEOUTS, dot: 2_000 }).then(
      session => session.send(outgoing()),
      ({ message }: Error) => ({ outcome: 'no connection', reason: message }),
    )
    const outcome = at === 'EHLO' ? 'no connection' : at === '.' ? 'in_doubt' : 'deferred'
    t.match(told, { outcome, reason: /no reply in [012] s$/ }, `${JSON.stringify(text)} at ${at}`)
    await server.closed
  }
  const stages = ['EHLO', 'MAIL', 'RCPT', 'DATA', '.']
  await Promise.all(['', '2', '250-x\r\n'].flatMap(text => stages.map(at => attempt(text, at))))
})

function outgoing(more: Partial<Outgoing> = {}): Outgoing {
  const message = { bytes: Buffer.from('Subject: x\r\n\r\nx\r\n') }
  const route = { tls: 'opportunistic' as const, transport: null }
  const ids = { ...route, account_id: '1', delivery_id: '2', mail_from: 'b@x.com', recipient: 'a@y.com' }
  return { ...ids, message, fence: async () => true, signal: new AbortController().signal, ...more }
}

/** Replies line by line; within the content only to the final dot and to lines that the script replies to. */
async function startScript(t: Test, script: Script = () => undefined) {
  const lines: string[] = []
  const server = createServer(socket => {
    let isContent = false
    t.teardown(() => socket.destroy())
    socket.on('error', () => {}).write('220 script\r\n')
    createInterface(socket)
      .on('error', () => {})
      .on('line', async line => {
        lines.push(line)
        const isCommand = !isContent || line === '.'
        isContent = line === 'DATA' || (isContent && line !== '.')
        let answer = await script(line, socket)
        if (answer === undefined && isCommand) answer = PLEASING[line] ?? '250 Ok'
        if (answer) socket.write(`${answer}\r\n`)
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const closed = once(server, 'connection').then(([socket]) => new Promise(resolve => socket.once('close', resolve)))
  const { port } = server.address() as AddressInfo
  const relay = { host: '127.0.0.1', port, via: 'relay', secure: false, helo_name: 'me.test' } as const
  const open = (timeouts = TIMEOUTS, signal = new AbortController().signal) => SmtpSession.open(relay, timeouts, signal)
  return { lines, open, closed }
}

import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type SinkOptions, startSink } from '#test/faults/support/sink.ts'
import { ROOT } from '#test/support/root.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const HEADER = 'Message-ID: <1@x.com>\r\nSubject: one\r\n'
const BODY = 'one\r\n.two\r\n\r\n..\r\n'
const MESSAGE = `DKIM-Signature: v=1;\r\n b=abc\r\n${HEADER}\r\n${BODY}`
const CONTENT = `${MESSAGE.replace(/^\./gm, '..')}.\r\n`

t.test('the sink accepts messages in pieces of any length', async t => {
  const sink = await start(t)
  for (const size of [1, 2, 3, 7, CONTENT.length]) {
    const client = await dial(t, sink.port)
    await client.ask('MAIL FROM:<a@x.com>\r\n')
    await client.ask('RCPT TO:<ok@y.com>\r\n')
    t.match(await client.ask('DATA\r\n'), /^354/)
    const pieces = CONTENT.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    for (const piece of pieces.slice(0, -1)) {
      client.say(piece)
      await sleep(1) // so that the system does not combine them
    }
    t.equal(await client.ask(pieces.at(-1) ?? '', 'Ok'), '250 2.0.0 Ok\r\n')
    const expected = { mail_from: 'a@x.com', rcpt: 'ok@y.com', message_id: '<1@x.com>' }
    const hashes = { body_sha256: hash('sha256', BODY), message_sha256: hash('sha256', `${HEADER}\r\n${BODY}`) }
    t.match(sink.ledger.pop(), { ...expected, ...hashes }, `${size} at a time`)
  }

  const client = await dial(t, sink.port)
  const all = `MAIL FROM:<>\r\nRCPT TO:<ok-1@y.com>\r\nRCPT TO:<ok-2@y.com>\r\nDATA\r\n.\r\nNOOP\r\n`
  t.match(await client.ask(all, '250 sink'), /^250.*\r\n250.*\r\n250.*\r\n354.*\r\n250.*\r\n250 sink\r\n$/)
  shows(t, sink.ledger, [{ rcpt: 'ok-1@y.com', mail_from: '' }, { rcpt: 'ok-2@y.com' }], 'empty, and for two')
  t.match(sink, { connections: 6, messages: 7 })
})

t.test('the sink replies as the recipient says', async t => {
  const sink = await start(t)
  const answers = {
    'tmp-451-x': '451 As you asked\r\n',
    'perm-550-5.1.1-x': '550 5.1.1 As you asked\r\n',
    'multiline-550-5.7.1': '550-5.7.1 One\r\n550-5.7.1 two\r\n550 5.7.1 three\r\n',
    '8bit-452': '452 Bo\xeete pleine\r\n',
    garbage: '\0\xff\r\0?\r\n\r\n',
    '421': '421 4.3.2 Closing\r\n',
    'reply-421': '421 As you asked\r\n',
  }
  for (const [local, answer] of Object.entries(answers)) {
    const client = await dial(t, sink.port)
    await client.ask('MAIL FROM:<a@x.com>\r\n')
    t.equal(await client.ask(`RCPT TO:<${local}@y.com>\r\n`), answer, local)
    if (answer.startsWith('421')) await client.closed
  }
  t.match(await rcpt(t, sink.port, 'grey-2'), /^451/)
  t.match(await rcpt(t, sink.port, 'grey-2'), /^451/)
  t.match(await rcpt(t, sink.port, 'grey-2-other'), /^451/)
  t.match(await rcpt(t, sink.port, 'grey-2'), /^250/)
  t.match(await rcpt(t, sink.port, 'dribble'), /^2$/)
})

t.test('the sink hangs up, is silent or late as the recipient says, and knows what it accepted', async t => {
  const sink = await start(t)
  for (const local of ['drop-pre-dot', 'drop-mid-body', 'drop-post-dot']) {
    const client = await deliver(t, sink.port, local)
    await client.closed
    t.notMatch(client.heard, /^250 2.0.0/m, local)
  }
  const silent = await deliver(t, sink.port, 'hang-post-dot')
  t.match((await deliver(t, sink.port, 'data-452-4.3.1')).heard, /\r\n452 4.3.1 As you asked\r\n$/)
  t.match((await deliver(t, sink.port, 'slow250-100')).heard, /\r\n250 2.0.0 Ok\r\n$/)
  t.match(silent.heard, /\r\n354 Go ahead\r\n$/)
  shows(t, sink.ledger, [{ rcpt: 'drop-post-dot@y.com' }, { rcpt: 'hang-post-dot@y.com' }, { rcpt: /^slow250/ }])
})

t.test('the sink misbehaves on every connection if configured', async t => {
  const options: SinkOptions = { greeting: '554 5.3.2 No', ehlo: '502 5.5.1 What?' }
  const sink = await start(t, options)
  const client = await dial(t, sink.port)
  t.equal(client.heard, '554 5.3.2 No\r\n')
  t.equal(await client.ask('EHLO x\r\n'), '502 5.5.1 What?\r\n')
  options.greeting = 'dribble'
  t.equal((await dial(t, sink.port)).heard, '2')
})

t.test('the sink runs as a separate process and writes its ledger before it replies', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-test-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const ledger = join(directory, 'ledger')
  const program = join(ROOT, 'test/faults/support/sink.ts')
  const child = spawn(process.execPath, [program, '--ledger', ledger], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const port = Number(await once(child.stdout, 'data'))

  await deliver(t, port, 'ok')
  t.match(JSON.parse(await readFile(ledger, 'utf8')), { rcpt: 'ok@y.com', body_sha256: hash('sha256', BODY) })
  child.kill('SIGTERM')
  t.equal(String(await once(child.stdout, 'data')), '{"connections":1,"messages":1}\n')
  await once(child, 'exit')
})

async function start(t: Test, options?: SinkOptions) {
  const sink = await startSink(options)
  t.teardown(sink.close)
  return sink
}

/** A client that has received the greeting. */
async function dial(t: Test, port: number) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
  t.teardown(() => socket.destroy())
  const client = {
    heard: '',
    closed: once(socket, 'close'),
    say: (text: string) => socket.write(text, 'latin1'),
    /** Sends text; returns the next data, or all until it contains `until`. */
    async ask(text: string, until = ''): Promise<string> {
      client.heard = ''
      socket.write(text, 'latin1')
      do await once(socket, 'data', { signal: AbortSignal.timeout(5_000) })
      while (!client.heard.includes(until))
      return client.heard
    },
  }
  socket.on('data', text => {
    client.heard += text
  })
  socket.on('error', () => {})
  await once(socket, 'data')
  return client
}

async function rcpt(t: Test, port: number, local: string): Promise<string> {
  const client = await dial(t, port)
  await client.ask('MAIL FROM:<a@x.com>\r\n')
  return client.ask(`RCPT TO:<${local}@y.com>\r\n`)
}

/** Sends a message; resolves when there is a reply to it, or there will be none. */
async function deliver(t: Test, port: number, local: string) {
  const client = await dial(t, port)
  client.say(`MAIL FROM:<a@x.com>\r\nRCPT TO:<${local}@y.com>\r\nDATA\r\n`)
  await waitUntil(() => client.heard.includes('354'), 'the server has accepted DATA')
  client.say(CONTENT)
  if (/^(drop|hang)/.test(local)) await sleep(100)
  else await waitUntil(() => /354.*\r\n\d/.test(client.heard), 'the message has a reply')
  return client
}

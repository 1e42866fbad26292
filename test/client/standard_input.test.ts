import { once } from 'node:events'
import t from 'tap'
import { CommandLine } from '#test/support/client/command_line.ts'
import { ALLOWED, startServer } from '#test/support/http/fetching.ts'

const INTERRUPTED = 130
const sent: unknown[] = []
const port = await startServer(t, (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    sent.push(JSON.parse(Buffer.concat(chunks).toString()))
    response.setHeader('content-type', 'application/json').end('{"id":"1"}')
  })
})
const home = t.testdir()
const shell = new CommandLine({
  MAILBROOK_API_KEY: 'mb_x',
  MAILBROOK_BASE_URL: `http://${ALLOWED}:${port}`,
  XDG_CONFIG_HOME: home,
})

t.test('Ctrl-C ends a command that reads the standard input', async t => {
  for (const args of [
    ['send', '--text', '@-'],
    ['webhooks', 'verify', '--secret', 'whsec_eA==', '--header', 'a: b'],
    ['contacts', 'import', '-', '--domain', 'acme.com'],
    ['emails', 'batch', '-'],
  ]) {
    const { child } = shell.start(t, args)
    const ended = once(child, 'exit')
    // More than a pipe holds, so that the command is reading once it is written.
    await new Promise(resolve => child.stdin?.write('x'.repeat(2 ** 20), resolve))
    child.kill('SIGINT')
    const [code, signal] = await ended
    t.ok(code === INTERRUPTED || signal === 'SIGINT', args.join(' '))
  }
  t.strictSame(sent, [])
})

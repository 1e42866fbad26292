import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { decode } from '#client/cli/input/read_text.ts'
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

function openShell(home: string): CommandLine {
  const server = { MAILBROOK_API_KEY: 'mb_x', MAILBROOK_BASE_URL: `http://${ALLOWED}:${port}` }
  return new CommandLine({ ...server, XDG_CONFIG_HOME: home })
}

t.test('Ctrl-C ends a command that reads the standard input', async t => {
  const shell = openShell(t.testdir())
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

t.test('a file may be UTF-16, and may begin with a byte order mark', async t => {
  const home = t.testdir()
  const shell = openShell(home)
  const utf16 = Buffer.from('\ufeff{"text":"Zoë"}', 'utf16le')
  t.equal(decode(Buffer.from(utf16).swap16()), '{"text":"Zoë"}')
  for (const bytes of [utf16, Buffer.from('\ufeff{"text":"Zoë"}'), Buffer.from('{"text":"Zoë"}')]) {
    await writeFile(join(home, 'email.json'), bytes)
    t.equal((await shell.run(['send', '--body', `@${join(home, 'email.json')}`])).code, 0)
    t.equal((await shell.run(['send', '--body', '@-'], bytes)).code, 0)
  }
  t.strictSame(sent.splice(0), Array(6).fill({ text: 'Zoë' }))
})

t.test('the standard input can be one value only: the second one would be empty', async t => {
  const shell = openShell(t.testdir())
  const { code, error } = await shell.run(['send', '--subject', '@-', '--text', '@-'], 'Hello')
  t.equal(code, 2)
  t.match(error, {
    ...{ statusCode: null, name: 'cli_error' },
    message: 'The standard input can be read only once: give one of the values in another way.',
  })
  t.strictSame(sent, [])
})

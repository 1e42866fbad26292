import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { COMMON } from '#client/cli/command.ts'
import { COMMANDS } from '#client/cli/commands.ts'
import { startApi } from '#test/support/api.ts'
import { CommandLine } from '#test/support/client/command_line.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { ALLOWED, startServer, startTcpServer } from '#test/support/http/fetching.ts'
import { ROOT } from '#test/support/root.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
work.sender.start()
const { pg } = world.pool
const home = t.testdir()
/** An id that nothing has. */
const MISSING = '01a20009-1136-75ca-8d25-9b84c176d8e8'
const from = `Acme <a@${account.domain}>`

const shell = new CommandLine({ MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: api.url, XDG_CONFIG_HOME: home })
const file = async (name: string, text: string): Promise<string> => {
  await writeFile(join(home, name), text)
  return join(home, name)
}

t.test('a wrong command is refused before anything is sent', async t => {
  for (const [args, message] of [
    [['emials', 'list'], 'There is no command `mailbrook emials list`. Did you mean `mailbrook emails list`?'],
    [['emails', 'list', '--limt', '1'], 'There is no option `--limt`. Did you mean `--limit`?'],
    [['emails', 'list', '--limit', 'x'], '`--limit` must be a number.'],
    [['emails', 'send', '--text', '- x'], /equals sign: `--name=-value`\.$/],
    [['open', '--base-url', 'localhost:3000'], /^The address of the server must be a URL with http:/],
    [['webhooks', 'listen', '1', '--forward', 'localhost:4000/hook'], /^`--forward` must be the address/],
    [['emails', 'list', '--folder', 'x'], /^`--folder` must be one of `all`, /],
    [['emails', 'get'], '`mailbrook emails get` needs ID: Id of the email.'],
    [['emails', 'get', '1', '2'], '`mailbrook emails get` does not take "2".'],
    [['emails', 'send', '--headers', '{'], /^`--headers` must be JSON: /],
    [['emails', 'send', '--html', '@/nonexistent'], /^\/nonexistent cannot be read: /],
    [['contacts', 'delete', 'a@b.com'], '`mailbrook contacts delete a@b.com` needs `--yes`: it cannot be undone.'],
    [['--json'], 'Options come after the command: `mailbrook COMMAND --json`.'],
    [['emails', 'list', '--profile', 'x'], 'There is no profile "x": see `mailbrook profiles`.'],
  ] as const) {
    const { code, stdout, error } = await shell.run([...args])
    t.match(error, { statusCode: null, name: 'cli_error', message })
    t.strictSame(Object.keys(error), ['statusCode', 'name', 'message'])
    t.strictSame([code, stdout], [2, ''], args.join(' '))
  }
})

t.test('each option of a command has one meaning', async t => {
  for (const { words, options } of COMMANDS) {
    const names = [...options, ...COMMON].map(({ name }) => name)
    t.strictSame(names, [...new Set(names)], words.join(' '))
  }
  const provider = ['--api-user', 'acme', '--body-api-key', 'key']
  const { error } = await shell.run(['domains', 'dns', 'publish-at-namecheap', MISSING, ...provider])
  shows(t, error, { statusCode: 404, name: 'not_found' })
})

t.test('the exit code shows the kind of failure', async t => {
  const nobody = `http://127.0.0.1:${await findFreePort()}`
  for (const [args, code, error] of [
    [['emails', 'get', MISSING], 5, { statusCode: 404, name: 'not_found' }],
    [['emails', 'list', '--api-key', 'mb_x'], 4, { statusCode: 403, name: 'invalid_api_key' }],
    [['emails', 'list', '--base-url', nobody, '--retries', '0'], 3, { statusCode: 0, name: 'network_error' }],
    [['send', '--from', from, '--to', 'x', '--subject', 'x'], 1, { statusCode: 422, name: 'invalid_to_address' }],
  ] as const) {
    const result = await shell.run([...args])
    shows(t, result.error, error)
    t.equal(result.code, code, args.join(' '))
  }
})

t.test('--var gives numbers to variables that must be numbers, and leaves other text as it is', async t => {
  const variables = [
    { key: 'count', type: 'number' },
    { key: 'code', type: 'string' },
    { key: 'name', type: 'string' },
  ]
  const content = ['--alias', 'order', '--subject', '{{count}}, {{code}}, {{name}}', '--html', 'x']
  const declared = ['--variables', JSON.stringify(variables)]
  const made = await shell.run(['templates', 'create', '--name', 'Order', ...content, ...declared])
  t.equal(made.code, 0, made.stderr)
  shows(t, await shell.run(['templates', 'publish', 'order']), { code: 0 })
  const values = ['--var', 'count=5', '--var', 'code=007', '--var', 'name=12']
  const { code, lines, stderr } = await shell.run([
    ...['send', '--from', from, '--to', 'b@b.com', '--template-id', 'order', ...values],
  ])
  t.equal(code, 0, stderr)
  shows(t, (await shell.run(['emails', 'get', lines[0].id])).lines, [{ subject: '5, 007, 12' }])
})

t.test('send composes an email and waits for its outcome', async t => {
  const html = await file('mail.html', '<p>Hello {{name}} {{other}} <img src="cid:logo"></p>')
  const logo = await file('logo.png', 'PNG')
  const email = ['--from', from, '--to', 'b@b.com', '--to', 'c@b.com', '--subject', 'Hi {{name}}', '--html', `@${html}`]
  const { code, lines, stderr } = await shell.run([
    'send',
    ...email,
    '--var',
    'name=A=B',
    '--variables',
    '{"name":"C","other":"D"}',
    '--attach',
    `${logo}:logo`,
    '--attach',
    await file('report 10:30.txt', 'x'),
    '--wait',
  ])
  t.equal(code, 0, stderr)
  shows(t, lines, [{ status: 'delivered' }])
  const read = await shell.run(['emails', 'get', lines[0].id])
  shows(t, read.lines, [
    { to: ['b@b.com', 'c@b.com'], subject: 'Hi A=B', html: '<p>Hello A=B D <img src="cid:logo"></p>' },
  ])
  shows(t, (await shell.run(['emails', 'attachments', lines[0].id])).lines[0].data, [
    { filename: 'logo.png', content_id: 'logo' },
    { filename: 'report 10:30.txt', content_id: null },
  ])

  const later = await shell.run(
    ['send', '--from', from, '--to', 'b@b.com', '--subject', 'x', '--text', '@-', '--at', 'in 1 hour'],
    'Text',
  )
  shows(t, (await shell.run(['emails', 'get', later.lines[0].id])).lines, [{ status: 'scheduled', text: 'Text' }])

  const bounced = ['--from', from, '--to', 'bounced@simulator.internal', '--subject', 'x', '--text', 'x', '--wait']
  const result = await shell.run(['send', ...bounced])
  t.equal(result.code, 1)
  shows(t, result.error, { statusCode: null, name: 'not_delivered', message: 'The email is `bounced`.' })
})

t.test('a list is one page as a record, or one line per item', async t => {
  const contacts = Array.from({ length: 130 }, (_, n) => ({ email: `p${n}@list.com` }))
  const saved = await shell.run([
    'contacts',
    'batch',
    '--domain',
    account.domain,
    '--contacts',
    JSON.stringify(contacts),
  ])
  t.equal(saved.code, 0, saved.stderr)
  const page = await shell.run(['contacts', 'list', '--domain', account.domain, '--limit', '3'])
  shows(t, page.lines, [{ object: 'list', has_more: true }])
  const named = await shell.run([
    ...['contacts', 'list', '--domain', account.domain, '--limit', '2', '--fields', 'email,id'],
  ])
  const { data, ...rest } = named.lines[0]
  t.strictSame(rest, { object: 'list', has_more: true })
  t.strictSame(
    data.map((item: object) => Object.keys(item)),
    [
      ['email', 'id'],
      ['email', 'id'],
    ],
  )
  const all = await shell.run(['contacts', 'list', '--domain', account.domain, '--all', '--fields', 'email'])
  t.strictSame(all.lines.map(({ email }) => email).sort(), contacts.map(({ email }) => email).sort())
  t.strictSame(Object.keys(all.lines[0]), ['email'])
})

t.test('a batch of any length is sent, and a second run after a kill sends only the rest', async t => {
  const lines = Array.from({ length: 450 }, (_, n) => ({
    from,
    to: `n${n}@batch.com`,
    subject: `Line ${n}`,
    text: 'x',
  }))
  const texts = lines.map(line => JSON.stringify(line))
  texts[10] = 'no JSON'
  texts[20] = JSON.stringify({ ...lines[20], to: 'nobody' })
  const path = await file('emails.jsonl', `${texts.join('\n')}\n\n`)
  const count = async () =>
    (await pg.query("SELECT count(*)::int FROM emails WHERE subject LIKE 'Line %'")).rows[0].count
  const { child } = shell.start(t, ['emails', 'batch', path])
  await waitUntil(async () => (await count()) > 0, 'the first emails')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const before = await count()
  t.ok(before < 448, `${before} emails`)

  const again = await shell.run(['emails', 'batch', path])
  t.equal(again.code, 1)
  t.strictSame(
    again.lines.map(({ line }) => line),
    texts.map((_, n) => n + 1),
  )
  t.strictSame(again.lines[10], { line: 11, error: 'The line is not a JSON object.' })
  t.match(again.lines[20], { line: 21, error: /^`to` must be/ })
  shows(t, again.error, { statusCode: null, name: 'emails_refused', message: '2 of 450 emails were refused.' })
  const { rows } = await pg.query("SELECT id, subject FROM emails WHERE subject LIKE 'Line %'")
  t.equal(rows.length, 448, 'each was sent once')
  const subjects = new Map(rows.map(({ id, subject }) => [id, subject]))
  for (const { line, id } of again.lines.filter(({ id }) => id)) t.equal(subjects.get(id), `Line ${line - 1}`)
})

t.test('a batch to an address where nobody answers fails soon', async t => {
  const path = await file('few.jsonl', JSON.stringify({ from, to: 'u@batch.com', subject: 'x', text: 'x' }))
  let tries = 0
  const port = await startTcpServer(t, socket => {
    tries++
    socket.destroy()
  })
  const url = `http://${ALLOWED}:${port}`
  for (const [given, wanted] of [
    [[], 3],
    [['--retries', '0'], 1],
  ] as const) {
    tries = 0
    const { code, error } = await shell.run(['emails', 'batch', path, '--base-url', url, ...given])
    shows(t, { code, ...error }, { code: 3, statusCode: 0, name: 'network_error' })
    t.equal(tries, wanted)
  }
})

t.test('a batch may have any text, a byte order mark and CRLF', async t => {
  const emails = ['a\u2028b\u2029', 'ü🦄\u0085'].map(text => ({ from, to: 'u@batch.com', subject: 'x', text }))
  const path = await file('texts.jsonl', `\ufeff${emails.map(email => JSON.stringify(email)).join('\r\n')}`)
  const { code, lines } = await shell.run(['emails', 'batch', path])
  t.strictSame({ code, lines: lines.map(({ line }) => line) }, { code: 0, lines: [1, 2] })
  for (const [n, { text }] of emails.entries()) {
    const [stored] = (await shell.run(['emails', 'get', lines[n].id])).lines
    t.equal(stored.text, text)
  }
})

t.test('contacts import reports faults with their lines', async t => {
  const path = await file('contacts.csv', 'Mail;first_name\nanna@csv.com;Anna\nnobody;x\n')
  const map = '{"email":"Mail","first_name":"first_name"}'
  const running = shell.run(['contacts', 'import', path, '--domain', account.domain, '--column-map', map])
  const { rows } = await waitUntil(async () => {
    const found = await pg.query('SELECT id FROM contact_imports WHERE account_id = $1', [account.id])
    return found.rows.length > 0 && found
  }, 'the import')
  await work.importer.offer([rows[0].id])
  const { code, lines, stderr } = await running
  t.equal(code, 0, stderr)
  shows(t, lines, [{ status: 'completed', counts: { total: 2, created: 1, failed: 1 } }])
  t.match(stderr, /^Line 3: /m)
})

t.test('contacts import sends the bytes of the standard input and of a pipe', async t => {
  const domain = ['--domain', account.domain, '--no-wait']
  const given = await shell.run(
    ['contacts', 'import', '-', ...domain],
    Buffer.from('email,first_name\nj@y.com,J\xf6rg\n', 'latin1'),
  )
  t.match(given.stderr, /^Sending 30 bytes$/m)
  const pipe = join(home, 'pipe')
  await promisify(execFile)('mkfifo', [pipe])
  const [piped] = await Promise.all([
    shell.run(['contacts', 'import', pipe, ...domain]),
    writeFile(pipe, 'email\np@y.com\n'),
  ])
  t.match(piped.stderr, /^Sending 14 bytes$/m)
  await work.importer.offer([given.lines[0].id, piped.lines[0].id])
  await work.importer.idle()
  shows(t, (await shell.run(['contacts', 'get', 'j@y.com', '--domain', account.domain])).lines, [
    { first_name: 'Jörg' },
  ])
  shows(t, (await shell.run(['contacts', 'get', 'p@y.com', '--domain', account.domain])).lines, [{ email: 'p@y.com' }])
  const missing = await shell.run(['contacts', 'import', '/nonexistent', ...domain])
  t.match(missing.error, { name: 'cli_error', message: /^\/nonexistent cannot be read: / })
})

t.test('profiles store keys in a file that only the owner may read', async t => {
  const alone = new CommandLine({ XDG_CONFIG_HOME: join(home, 'profiles') })
  shows(t, (await alone.run(['emails', 'list'])).error, { name: 'cli_error' })
  const login = await alone.run(['login', '--base-url', api.url], `${account.key}\n`)
  t.equal(login.code, 0, login.stderr)
  t.equal((await stat(join(home, 'profiles/mailbrook/config.json'))).mode & 0o777, 0o600)
  shows(t, (await alone.run(['whoami'])).lines, [{ base_url: api.url, access: 'full' }])
  await alone.run(['login', '--base-url', api.url, '--name', 'sending', '--api-key', account.sending_key])
  shows(t, (await alone.run(['whoami'])).lines, [{ access: 'sending' }])
  shows(t, (await alone.run(['whoami', '-p', 'default'])).lines, [{ access: 'full' }])
  const elsewhere = { XDG_CONFIG_HOME: join(home, 'profiles'), MAILBROOK_BASE_URL: 'http://elsewhere.test' }
  for (const args of [[], ['-p', 'default', '--api-key', account.key]]) {
    const mixed = new CommandLine(elsewhere)
    shows(t, (await mixed.run(['whoami', ...args])).lines, [{ base_url: api.url }])
    t.equal((await mixed.run(['open', ...args])).stdout, `${api.url}/\n`, 'it opens the server of the profile too')
  }
  const again = await alone.run(['login', '--name', 'sending', '--api-key', account.sending_key])
  t.equal(again.code, 0, 'the address is that of the profile')
  const given = new CommandLine({ XDG_CONFIG_HOME: join(home, 'given'), MAILBROOK_BASE_URL: api.url })
  t.equal((await given.run(['login'], account.key)).code, 0, 'or that of the environment')
  shows(t, (await given.run(['profiles'])).lines, [{ name: 'default', base_url: api.url }])
  const empty = new CommandLine({ XDG_CONFIG_HOME: join(home, 'given'), MAILBROOK_API_KEY: '', MAILBROOK_BASE_URL: '' })
  shows(t, (await empty.run(['whoami'])).lines, [{ base_url: api.url }], 'empty variables count as not set')
  const wrong = await alone.run(['login', '--base-url', api.url, '--name', 'wrong', '--api-key', 'mb_x'])
  t.equal(wrong.code, 4)
  await alone.run(['profiles', '--use', 'default'])
  shows(t, (await alone.run(['profiles'])).lines, [
    { name: 'default', is_current: true },
    { name: 'sending', is_current: false },
  ])
  for (const args of [
    ['whoami', '-p'],
    ['logout', '--name'],
    ['profiles', '--use'],
  ]) {
    const { error } = await alone.run([...args, 'constructor'])
    t.match(error, { name: 'cli_error', message: 'There is no profile "constructor": see `mailbrook profiles`.' })
  }
  await alone.run(['logout'])
  shows(t, (await alone.run(['profiles'])).lines, [{ name: 'sending', is_current: true }])
})

t.test('api calls any route, and -o writes a download to a file', async t => {
  const made = await shell.run(['api', 'POST', '/topics', '-f', 'name=News', '-f', 'default_subscription=opt_in'])
  shows(t, made.lines, [{ object: 'topic', name: 'News' }])
  const path = join(home, 'contacts_out.csv')
  const { code } = await shell.run(['contacts', 'export', '--domain', account.domain, '-o', path])
  t.equal(code, 0)
  t.ok((await stat(path)).size > 100)
  const { stdout } = await shell.run(['contacts', 'export', '--domain', account.domain])
  t.match(stdout, /^email,/)
  const route = `/contacts/export?domain=${account.domain}`
  t.equal((await shell.run(['api', 'GET', route])).stdout, stdout)
  const files = { [route]: stdout, '/topics?limit=1': '{"object":"list"' }
  for (const [route, begin] of Object.entries(files)) {
    t.equal((await shell.run(['api', 'GET', route, '-o', path])).code, 0)
    t.ok((await readFile(path, 'utf8')).startsWith(begin), route)
  }
})

t.test('a download that ends early is a network_error', async t => {
  const port = await startServer(t, (_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('part', () => response.destroy())
  })
  const to = ['--base-url', `http://${ALLOWED}:${port}`]
  for (const output of [[], ['-o', join(home, 'part')]]) {
    const { code, error } = await shell.run(['received', 'raw', MISSING, ...to, ...output])
    t.match(error, { statusCode: 0, name: 'network_error', message: /^The download ended early: / })
    t.equal(code, 3)
  }
  const { code, error } = await shell.run(['contacts', 'export', '--domain', account.domain, '-o', '/nonexistent/file'])
  t.match(error, { name: 'cli_error', message: /^\/nonexistent\/file cannot be written: / })
  t.equal(code, 2)
})

t.test('help, the version and completion are printed', async t => {
  t.match(
    (await shell.run(['send', '--help'])).stdout,
    /Usage:\n {2}mailbrook send \[options\]\n\nExamples:\n {2}mailbrook send --from/,
  )
  for (const words of [[], ['send'], ['emails', 'list']])
    t.equal((await shell.run(['help', ...words])).stdout, (await shell.run([...words, '--help'])).stdout)
  t.match((await shell.run([])).stdout, /^Usage:\n {2}mailbrook COMMAND \[options\]/)
  t.match((await shell.run(['contacts', '--help'])).stdout, /contacts imports create +Import contacts from a CSV file/)
  t.equal((await shell.run(['--version'])).stdout, '0.1.0\n')
  const completed = async (...words: string[]) => (await shell.run(['__complete', ...words])).stdout.trim().split('\n')
  t.strictSame(await completed('em'), ['emails'])
  t.strictSame(await completed('emails', 're'), ['reschedule', 'retry', 'release'])
  t.strictSame(await completed('contacts', 'imports', ''), ['create', 'list', 'get', 'errors'])
  t.strictSame(await completed('emails', 'list', '--fo'), ['--folder'])
  for (const name of ['bash', 'zsh', 'fish']) t.match((await shell.run(['completion', name])).stdout, /__complete/)
})

t.test('the commands of the client README do what it says', async t => {
  const page = await readFile(join(ROOT, 'client/README.md'), 'utf8')
  const [, commands = ''] = /^```sh\n(.*?)^```/ms.exec(page) ?? []
  const own = new CommandLine({ MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: api.url, XDG_CONFIG_HOME: home })
  await file('contacts.csv', 'email\nreadme@csv.com\n')
  for (const command of commands
    .trim()
    .split('\n')
    .filter(line => !line.includes('login'))) {
    const args = Array.from(
      command.matchAll(/'([^']*)'|(\S+)/g),
      ([, quoted, plain]) => quoted ?? (plain as string),
    ).slice(1)
    const given = args.map(arg =>
      arg.replaceAll('sandbox.internal', account.domain).replace(/^contacts.csv$/, join(home, 'contacts.csv')),
    )
    const { code, stderr } = await own.run(given.includes('import') ? [...given, '--no-wait'] : given)
    t.equal(code, 0, `${command}: ${stderr}`)
  }
})

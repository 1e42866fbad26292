import { spawn, spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { CommandLine } from '#test/support/client/command_line.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { ROOT } from '#test/support/root.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const home = t.testdir()
const variables = { MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: api.url, XDG_CONFIG_HOME: home }
const shell = new CommandLine(variables)
const template = async (alias: string) =>
  (await api.request('GET', `/api/templates/${alias}`)).body as unknown as Template
type Template = { id: string; html: string; subject: string; has_unpublished_versions: boolean; status: string }

t.test('templates pull writes files, and push sends those that changed', async t => {
  const root = join(home, 'templates')
  const made = {
    name: 'Welcome',
    alias: 'welcome',
    subject: 'Hi {{name}}',
    html: '<p>Hi {{name}}</p>',
    text: 'Hi {{name}}',
  }
  await api.request('POST', '/api/templates', { body: made })
  const { body: unnamed } = await api.request('POST', '/api/templates', { body: { name: 'Old', html: '<p>Old</p>' } })
  const pulled = await shell.run(['templates', 'pull', root])
  t.equal(pulled.code, 0, pulled.stderr)
  t.strictSame((await readdir(root)).sort(), [unnamed.id, 'welcome'].sort())
  const folder = join(root, 'welcome')
  t.strictSame((await readdir(folder)).sort(), ['body.html', 'body.txt', 'template.json'])
  t.equal(await readFile(join(folder, 'body.html'), 'utf8'), made.html)

  const again = await shell.run(['templates', 'push', root])
  t.strictSame(new Set(again.lines.map(({ action }) => action)), new Set(['unchanged']))

  await writeFile(join(folder, 'body.html'), '<p>Hello {{name}}</p>')
  await rm(join(folder, 'body.txt'))
  await mkdir(join(root, 'bye'))
  await writeFile(join(root, 'bye/template.json'), '{"name": "Bye", "subject": "Bye"}')
  await writeFile(join(root, 'bye/body.html'), '<p>Bye</p>')
  const pushed = await shell.run(['templates', 'push', root, '--publish'])
  const actions = Object.fromEntries(pushed.lines.map(({ name, action }) => [name, action]))
  t.strictSame(actions, { [unnamed.id]: 'published', bye: 'created and published', welcome: 'updated and published' })
  shows(t, await template('welcome'), { html: '<p>Hello {{name}}</p>', text: null, has_unpublished_versions: false })
  shows(t, await template('bye'), { name: 'Bye', subject: 'Bye', status: 'published' })

  // The second push publishes what the first one changed.
  await writeFile(join(folder, 'body.html'), '<p>Hello again {{name}}</p>')
  const changed = await shell.run(['templates', 'push', root])
  t.equal(changed.lines.find(({ name }) => name === 'welcome').action, 'updated')
  shows(t, await template('welcome'), { has_unpublished_versions: true })
  const later = await shell.run(['templates', 'push', root, '--publish'])
  t.equal(later.lines.find(({ name }) => name === 'welcome').action, 'published')
  shows(t, await template('welcome'), { has_unpublished_versions: false })

  await writeFile(join(root, 'bye/body.html'), '<p>Bye bye</p>')
  await writeFile(join(folder, 'template.json'), '{')
  const wrong = await shell.run(['templates', 'push', root])
  t.match(wrong.error, { name: 'cli_error', message: /welcome\/template.json must be JSON/ })
  shows(t, await template('bye'), { html: '<p>Bye</p>' })

  // A template of another server.
  await writeFile(join(folder, 'template.json'), '{"name": "Welcome"}')
  const id = newId()
  await rename(join(root, unnamed.id), join(root, id))
  const foreign = await shell.run(['templates', 'push', root])
  t.match(foreign.error, {
    ...{ statusCode: null, name: 'cli_error' },
    message: `The server has no template with the id ${id}: rename its folder to an alias.`,
  })
  shows(t, await template('bye'), { html: '<p>Bye</p>' })
  await rename(join(root, id), join(root, 'old'))
  const renamed = await shell.run(['templates', 'push', root])
  t.equal(renamed.lines.find(({ name }) => name === 'old').action, 'created')
})

t.test('templates push ignores that git writes CRLF into files on Windows', async t => {
  const root = join(home, 'windows')
  const html = '<p>One</p>\n<p>Two</p>\n'
  const stored = { text: 'One\r\nTwo\r\n', subject: 'Lines' }
  await api.request('POST', '/api/templates', { body: { name: 'Lines', alias: 'lines', html, ...stored } })
  await shell.run(['templates', 'pull', root])
  const push = async () =>
    (await shell.run(['templates', 'push', root])).lines.find(({ name }) => name === 'lines').action
  const write = (file: string, content: string) => writeFile(join(root, 'lines', file), content)
  t.equal(await push(), 'unchanged')
  await write('body.html', html.replaceAll('\n', '\r\n'))
  const fields = await readFile(join(root, 'lines/template.json'), 'utf8')
  await write('template.json', fields.replaceAll('\n', '\r\n'))
  t.equal(await push(), 'unchanged')
  await write('body.html', '<p>One</p>\r\n<p>New</p>\r\n')
  t.equal(await push(), 'updated')
  shows(t, await template('lines'), { html: '<p>One</p>\n<p>New</p>\n' })
})

t.test('doctor checks the server, the key and the DNS records', async t => {
  await addDomain(world.pool, world.secrets, { account_id: account.id, id: newId(), name: 'new.com', status: 'failed' })
  await addDomain(world.pool, world.secrets, {
    account_id: account.id,
    id: newId(),
    name: 'half.com',
    status: 'partially_verified',
  })
  const { code, lines, error } = await shell.run(['doctor'])
  t.equal(code, 1)
  t.match(error, { name: 'problems_found', message: '1 problem was found.' })
  const levels = lines.map(({ check, level }) => `${level} ${check}`)
  t.strictSame(
    [...new Set(levels)],
    [
      'ok server',
      'ok version',
      'ok key',
      'warning domain half.com',
      'problem domain new.com',
      'warning domain new.com',
      `ok domain ${account.domain}`,
    ],
  )
  t.match(lines.find(({ finding }) => /DKIM/.test(finding)).fix, /^mb1\._domainkey TXT v=DKIM1/)
  const port = await findFreePort()
  const nobody = await shell.run(['doctor', '--base-url', `http://127.0.0.1:${port}`])
  shows(t, nobody.lines, [{ level: 'problem', check: 'server', finding: /is not a Mailbrook server: .*ECONNREFUSED/ }])
  const wrong = await shell.run(['doctor', '--api-key', 'mb_x'])
  shows(t, wrong.lines, [{ check: 'server' }, { check: 'version' }, { level: 'problem', check: 'key' }])
})

t.test('open and docs open a page in the browser or print it', async t => {
  const variables = { MAILBROOK_BASE_URL: api.url, XDG_CONFIG_HOME: join(home, 'nobody') } // without profiles
  const nobody = new CommandLine(variables)
  t.equal((await nobody.run(['open', 'emails'])).stdout, `${api.url}/emails\n`)
  t.match((await nobody.run(['docs'])).stdout, /^# Mailbrook\n.*\/docs\/sending\.md/s)
  t.match((await nobody.run(['docs', 'api/emails'])).stdout, /^# Emails\n.*mailbrook emails send/s)
  shows(t, (await nobody.run(['docs', 'nowhere'])).error, { name: 'cli_error' })
  shows(t, (await nobody.run(['open', '\\other.com'])).error, { name: 'cli_error' })
  const away = await nobody.run(['docs', 'sending', '--base-url', `http://127.0.0.1:${await findFreePort()}`])
  shows(t, away.error, { statusCode: 0, name: 'network_error' })
  t.equal(away.code, 3)
  const browser = join(home, 'browser')
  await writeFile(browser, `#!/bin/sh\necho "$1" > ${home}/opened\n`)
  await chmod(browser, 0o755)
  const opening = new CommandLine({ ...variables, BROWSER: browser })
  t.equal((await opening.run(['docs', 'sending'])).code, 0)
  // The command does not wait for the browser.
  const opened = () => readFile(join(home, 'opened'), 'utf8').catch(() => '')
  t.equal(await waitUntil(opened, 'the browser is started'), `${api.url}/docs/sending\n`)
  const missing = new CommandLine({ ...variables, BROWSER: '/nonexistent' })
  shows(t, (await missing.run(['open'])).error, { name: 'cli_error', message: /^No browser could be started/ })
})

/** A folder with the program, as an installation has it. */
async function installProgram(): Promise<string> {
  const path = join(home, 'bin/mailbrook')
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `#!/bin/sh\nexec ${process.execPath} ${join(ROOT, 'client/cli/main.ts')} "$@"\n`)
  await chmod(path, 0o755)
  return dirname(path)
}

/** Scripts that print the completions of a line in each shell. */
const SHELLS: Record<string, (words: string[]) => string> = {
  bash: words => `source <(mailbrook completion bash)
COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_mailbrook; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: words => `compdef() { :; }; source <(mailbrook completion zsh)
compadd() { shift; eval "print -rl -- \\"\\\${\${1}[@]}\\""; }
_files() { :; }
words=(${words.map(word => `'${word}'`).join(' ')}); CURRENT=${words.length}
_mailbrook`,
  fish: words => `mailbrook completion fish | source; complete -C '${words.join(' ')}'`,
}

for (const [name, scriptOf] of Object.entries(SHELLS)) {
  const isThere = spawnSync(name, ['--version']).error === undefined
  t.test(`${name} completes commands and options`, { skip: isThere ? false : `there is no ${name}` }, async t => {
    const folder = await installProgram()
    const completed = async (...words: string[]) => {
      const env = { PATH: `${folder}:${process.env.PATH}`, HOME: home }
      const child = spawn(name, ['-c', scriptOf(['mailbrook', ...words])], { env })
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
      t.equal(stderr, '')
      return stdout.trim().split('\n').sort()
    }
    t.strictSame(await completed('emails', 're'), ['release', 'reschedule', 'retry'])
    t.strictSame(await completed('templates', 'pu'), ['publish', 'pull', 'push'])
    t.strictSame(await completed('emails', 'list', '--fo'), ['--folder'])
  })
}

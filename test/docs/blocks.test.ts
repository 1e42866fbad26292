import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { findCommand } from '#client/cli/commands.ts'
import { readArguments } from '#client/cli/input/arguments.ts'
import { Environment, readConfig } from '#lib/config.ts'
import { newId } from '#lib/ids.ts'
import { insertAccount } from '#sql/accounts/accounts.ts'
import { migrate } from '#sql/migrate.ts'
import { type Block, CURL_PAGES, readBlocks } from '#test/support/docs_blocks.ts'
import { ROOT } from '#test/support/root.ts'
import { addDomain, openWorld } from '#test/support/world.ts'
import { USAGE } from '#workers/admin/commands.ts'
import { options } from '#workers/admin/values.ts'
import { readCommand } from '#workers/admin/words.ts'

// Every block of code of the docs is run by a test, or is of a kind that this file checks as far as possible on one machine.

const read = (path: string) => readFile(join(ROOT, path), 'utf8')
const paths = [...globSync('docs/*.md', { cwd: ROOT }), 'client/README.md', 'README.md'].sort()
const blocks = (
  await Promise.all(
    paths.map(async path =>
      readBlocks(basename(path, '.md') === 'README' ? path : basename(path, '.md'), await read(path)),
    ),
  )
).flat()

type Kind = { name: string; fits(block: Block): boolean; check(t: Test, block: Block): void | Promise<void> }

const isIn =
  (test: string, pages: string[]) =>
  async (t: Test, { page }: Block) => {
    t.ok(pages.includes(page), `${test} runs it`)
    await t.resolves(access(join(ROOT, test)))
  }

/** In order: a block is of the first kind that it fits. */
const kinds: Kind[] = [
  {
    name: 'examples and their responses, which are run and compared',
    fits: ({ page }) => page === 'examples',
    check: isIn('test/docs/examples.test.ts', ['examples']),
  },
  {
    name: 'programs that a test runs',
    fits: ({ language }) => language === 'js' || language === 'ts',
    check: async (t, { page, language }) => {
      const tests: Record<string, string> = {
        'client/README.md': 'test/client/package.test.ts',
        coming_from_resend: 'test/docs/resend_program.test.ts',
        webhooks: 'test/docs/readme.test.ts',
      }
      const test = tests[page]
      if (!test) return t.fail(`no test runs ${language} of ${page}`)
      t.ok((await read(test)).includes('```'), `${test} reads it`)
    },
  },
  { name: 'commands of the README', fits: ({ page }) => page === 'README.md', check: checkScripts },
  {
    name: 'commands of the client',
    fits: ({ text }) => text.startsWith('mailbrook '),
    check: checkCommands,
  },
  {
    name: 'requests',
    fits: ({ text }) => text.startsWith('curl '),
    check: isIn('test/docs/commands.test.ts', CURL_PAGES),
  },
  { name: 'commands of the operator', fits: ({ text }) => text.startsWith('npm run admin --'), check: checkAdmin },
  { name: 'the doctor', fits: ({ text }) => text.startsWith('npm run doctor'), check: checkDoctor },
  {
    name: 'steps of a server',
    fits: ({ text }) => /^(?:npm ci|\[Unit\]|export )/.test(text),
    check: checkFiles,
  },
  { name: 'settings of a pooler', fits: ({ text }) => text.startsWith('ignore_startup_'), check: checkPooler },
  { name: 'a dump of the embedded Postgres', fits: ({ text }) => text.startsWith('node_modules/'), check: checkDump },
  { name: 'a database', fits: ({ text }) => text.startsWith('CREATE ROLE '), check: checkDatabase },
  { name: 'variables', fits: ({ text }) => /^[A-Z_]+=/.test(text), check: checkVariables },
  {
    name: 'DNS records',
    fits: ({ text }) => / IN (?:A|PTR|MX|TXT) /.test(text.split('\n')[0] ?? ''),
    check: checkRecords,
  },
  { name: 'JSON', fits: ({ text, language }) => language === 'json' || /^[{["]/.test(text), check: checkJson },
  {
    name: 'output of the doctor',
    fits: ({ text }) => /^(?:ok|problem) /.test(text),
    check: async (t, { text }) => {
      const levels = await read('lib/doctor/finding.ts')
      for (const [, level = ''] of text.matchAll(/^(\w+) {2,}/gm)) t.ok(levels.includes(`'${level}'`), level)
    },
  },
  {
    name: 'the tree of folders',
    fits: ({ page, text }) => page === 'architecture' && text.startsWith('web/'),
    check: async (t, { text }) => {
      for (const [, folder = ''] of text.matchAll(/^(\w+)\//gm)) await t.resolves(access(join(ROOT, folder)), folder)
    },
  },
]

const world = await openWorld(t)
const account_id = newId()
await insertAccount(world.pool, { id: account_id, name: 'acme', plan: 'unlimited' })
await addDomain(world.pool, world.secrets, { account_id, id: newId(), name: 'acme.com', status: 'verified' })

t.test('every code block of the docs is run or checked', async t => {
  t.ok(blocks.length > 150, `${blocks.length} blocks`)
  for (const block of blocks) {
    const kind = kinds.find(({ fits }) => fits(block))
    const title = `${block.page}: ${block.text.split('\n')[0]}`
    if (!kind) t.fail(`nothing runs or checks it: ${title}`)
    else await t.test(`${kind.name}: ${title}`, async t => kind.check(t, block))
  }
})

/** Compares the timeouts with those that connections of the pool have. */
async function checkPooler(t: Test, { text }: Block): Promise<void> {
  const [, ignored = ''] = /^ignore_startup_parameters = (.*)$/m.exec(text) ?? []
  const timeouts = [...text.matchAll(/^ALTER ROLE mailbrook SET (\w+) = '(\w+)';$/gm)]
  t.strictSame(
    timeouts.map(([, name]) => name),
    ignored.split(','),
  )
  for (const [, name = '', value] of timeouts) {
    t.strictSame((await world.pool.pg.query(`SHOW ${name}`)).rows, [{ [name]: value }])
  }
}

/** Looks for the files that the commands name. */
async function checkDump(t: Test, { text }: Block): Promise<void> {
  const [program = ''] = text.split(' ')
  const isOfThisSystem = program.includes(`${process.platform}-${process.arch}`)
  if (isOfThisSystem) await t.resolves(access(join(ROOT, program)))
  const [, password = ''] = /\.data\/(\w+)\)/.exec(text) ?? []
  t.match(await read('workers/embedded_postgres/cluster.ts'), `'${password}'`)
}

/** Creates the role and its database, and migrates that as the role. */
async function checkDatabase(t: Test, { text }: Block): Promise<void> {
  const name = `docs_${newId().slice(-12)}`
  const { pg } = world.pool
  for (const statement of text.replaceAll('mailbrook', name).split('\n')) await pg.query(statement)
  t.teardown(async () => {
    await pg.query(`DROP DATABASE ${name}`)
    await pg.query(`DROP ROLE ${name}`)
  })
  const url = new URL(world.config.DATABASE_URL as string)
  await t.resolves(migrate(Object.assign(url, { username: name, password: '...', pathname: name }).href))
}

/** The words of commands, as a shell splits them. */
function wordsOf(command: string, program: string): string[][] {
  const script = `${program.split(' ')[0]}() { printf '%s\\037' "$@"; printf '\\036'; }\n${command}\n`
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' })
  return stdout
    .split('\x1e')
    .slice(0, -1)
    .map(words => words.split('\x1f').slice(0, -1))
}

function checkCommands(t: Test, { text }: Block): void {
  for (const words of wordsOf(text, 'mailbrook')) {
    const { command, rest } = findCommand(words)
    t.ok(command, words.join(' '))
    // @file refers to a file of the reader.
    if (command)
      readArguments(
        command,
        rest.map(word => word.replace(/^@/, '')),
      )
  }
}

/** Compares usages with that of the program; test/docs/readme.test.ts has them all. */
async function checkAdmin(t: Test, { text }: Block): Promise<void> {
  for (const line of text.trim().split('\n')) {
    // Further options of the previous line.
    if (/^ /.test(line)) {
      for (const [, name = ''] of line.matchAll(/--([\w-]+)/g)) t.ok(name in options, name)
      continue
    }
    const isUsage = USAGE.split('\n').some(usage =>
      line.trim().endsWith(usage.replace('npm run admin --', '').trim() || '?'),
    )
    if (isUsage) continue
    const [words = []] = wordsOf(line, 'npm')
    await t.resolves(Promise.resolve(readCommand(words.slice(3))(world)), line)
  }
}

async function checkDoctor(t: Test, { text }: Block): Promise<void> {
  const program = await read('workers/doctor.ts')
  for (const [, option = ''] of text.matchAll(/--(\w+)/g)) t.ok(program.includes(option), option)
}

async function checkFiles(t: Test, { text }: Block): Promise<void> {
  for (const [path] of text.matchAll(/\b(?:workers|sql|api)\/\w+\.ts/g))
    await t.resolves(access(join(ROOT, path)), path)
  for (const [, name = ''] of text.matchAll(/\b([A-Z][A-Z_]{4,})=/g)) {
    t.ok(name in Environment.shape || name.startsWith('MALLOC_'), name)
  }
}

function checkVariables(t: Test, { text }: Block): void {
  const given = Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1).replaceAll("'", '')]),
  )
  const needed = { DATABASE_URL: 'postgres://localhost/x', SECRET_KEY: 'x'.repeat(40) }
  t.strictSame(
    Object.keys(given).filter(name => !(name in Environment.shape)),
    [],
  )
  t.ok(readConfig({ ...needed, ...given }))
}

function checkRecords(t: Test, { text }: Block): void {
  for (const line of text.trim().split('\n')) t.match(line, /^[\w.-]+\. +IN (?:A|AAAA|PTR|MX|TXT) +\S/)
}

/** Checks JSON that may lack its braces and have `...` for omissions. A Caddyfile is not JSON. */
function checkJson(t: Test, { text, page }: Block): void {
  if (page === 'operating' && text.includes('on_demand_tls')) {
    t.equal(text.split('{').length, text.split('}').length)
    return
  }
  // Names without values are the members of a record.
  const whole = text.trim().startsWith('"') ? `{${text}}` : text.replaceAll(/, \.\.\.(?=, )/g, '')
  const json = /^\{("\w+", )+"\w+"\}$/.test(whole.trim()) ? whole.replace('{', '[').replace('}', ']') : whole
  const value = JSON.parse(json)
  const { command, args } = value.mcpServers?.mailbrook ?? {}
  if (command) t.ok(findCommand(args).command, `${command} ${args}`)
}

async function checkScripts(t: Test, { text }: Block): Promise<void> {
  const { scripts } = JSON.parse(await read('package.json'))
  for (const [, name = ''] of text.matchAll(/\bnpm run (?:-s )?([\w:]+)/g)) t.ok(scripts[name], name)
  for (const [path] of text.matchAll(/\btest\/[\w/]+\.(?:ts|sh)/g)) await t.resolves(access(join(ROOT, path)), path)
}

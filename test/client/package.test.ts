import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import t from 'tap'
import manifest from '#client/package.json' with { type: 'json' }
import { readMethods } from '#docs/generate/client/read_methods.ts'
import { clientText } from '#docs/generate/samples/client_text.ts'
import { startApi } from '#test/support/api.ts'
import { ROOT } from '#test/support/root.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const run = promisify(execFile)
const MAX_BYTES = 12_000

/** Packs the client as npm would publish it, and unpacks it as npm would install it. */
const home = t.testdir()
const source = join(home, 'client')
const installed = join(home, 'node_modules/mailbrook')
await cp(join(ROOT, 'client'), source, { recursive: true, filter: path => !path.startsWith(join(ROOT, 'client/dist')) })
await mkdir(installed, { recursive: true })
const PATH = `${join(ROOT, 'node_modules/.bin')}:${dirname(process.execPath)}:${process.env.PATH}`
const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', home], {
  cwd: source,
  env: { ...process.env, PATH },
})
const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[\n')))
const tarball = await readFile(join(home, filename))
await symlink(join(ROOT, 'node_modules/@types'), join(home, 'node_modules/@types'))
await run('tar', ['-xzf', join(home, filename), '--strip-components=1', '-C', installed])

t.test('publint and attw find no faults in the package', async t => {
  const { messages } = await publint({ pkgDir: installed, strict: true, pack: false })
  t.strictSame(
    messages.map(({ code }) => code),
    [],
  )
  const checked = await checkPackage(createPackageFromTarballData(tarball))
  if (!checked.types) throw new Error('it has no types')
  // It is ESM only: require() works from Node 20.19 on, which this kind of problem is named after.
  t.strictSame(
    checked.problems.filter(({ kind }) => kind !== 'CJSResolvesToESM'),
    [],
  )
})

t.test('the package is small and has no dependencies', async t => {
  const library = join(installed, 'dist/source')
  const files = (await readdir(library, { recursive: true })).filter(name => name.endsWith('.js'))
  const texts = await Promise.all(files.map(name => readFile(join(library, name), 'utf8')))
  const size = gzipSync(texts.join(''), { level: 9 }).length
  t.ok(size < MAX_BYTES, `${size} bytes of ${MAX_BYTES}`)
  t.notOk('dependencies' in manifest)
  t.strictSame(
    texts.filter(text => /\bfrom '(?!\.)|\brequire\(|\bimport\('/.test(text)),
    [],
    'it imports nothing',
  )
})

t.test('the package works without `process`, as on Cloudflare Workers', async t => {
  const world = await openWorld(t)
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const { stdout } = await run(process.execPath, [
    ...['--experimental-vm-modules', '--no-warnings', join(ROOT, 'test/support/client/send_as_worker.ts')],
    ...[join(installed, 'dist/source/index.js'), api.url, account.key, `a@${account.domain}`],
  ])
  t.equal(JSON.parse(stdout).subject, 'Worker')
})

t.test('the programs of the client README compile and run', async t => {
  const world = await openWorld(t)
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const page = (await readFile(join(ROOT, 'client/README.md'), 'utf8')).replaceAll('sandbox.internal', account.domain)
  const programs = Array.from(page.matchAll(/^```ts\n(.*?)^```/gms), ([, program]) => program as string)
  t.equal(programs.length, 6)
  const names = programs.map((_, n) => `readme_${n}.ts`)
  for (const [n, name] of names.entries()) await writeFile(join(home, name), programs[n] as string)
  t.equal(await compile(names), '')
  const env = { ...process.env, MAILBROOK_API_KEY: account.key, MAILBROOK_BASE_URL: api.url }
  for (const name of names) await run(process.execPath, [name], { cwd: home, env })
  const { rows } = await world.pool.pg.query('SELECT subject FROM emails ORDER BY id')
  t.strictSame(rows, [{ subject: 'Welcome' }, { subject: 'Receipt 17' }])
  t.equal(await readFile(join(home, 'contacts.csv'), 'utf8').then(text => text.slice(0, 6)), 'email,')
})

t.test('the command line of the package starts', async t => {
  const { stdout } = await run(process.execPath, [join(installed, 'dist/cli/main.js'), '--version'])
  t.equal(stdout, `${manifest.version}\n`)
  // Functions that Node 20 does not have. The package is compiled with the library of ES2023, which lacks them too.
  const without = 'data:text/javascript,delete Map.groupBy;delete Object.groupBy;delete Promise.withResolvers'
  const help = await run(process.execPath, ['--import', without, join(installed, 'dist/cli/main.js')])
  t.match(help.stdout, /^Usage:/)
})

t.test('programs in TypeScript compile against the package', async t => {
  const program = `
    import { Mailbrook, MailbrookError, type Email } from 'mailbrook'
    const client = new Mailbrook({ apiKey: 'x' })
    export async function send(): Promise<Email> {
      const { id } = await client.emails.send({ from: 'a@b.com', to: ['b@b.com'], subject: 'x' }, { idempotencyKey: '1' })
      for await (const { status } of client.emails.list({ status: ['sent', 'failed'], created_after: new Date() })) status.trim()
      // @ts-expect-error: there is no such field
      await client.emails.send({ to: 'b@b.com', sent_to: 'c@b.com' })
      // @ts-expect-error: an email needs recipients
      await client.emails.send({ subject: 'x' })
      try { return await client.emails.get(id) } catch (error) {
        if (MailbrookError.is(error, 'not_found')) return client.emails.waitFor(id)
        // @ts-expect-error: there is no such error
        if (MailbrookError.is(error, 'not_there')) throw error
        throw error
      }
    }
  `
  await writeFile(join(home, 'program.ts'), program)
  t.equal(await compile(['program.ts']), '')
  // As @tsconfig/strictest has it. Variables of the environment may be missing.
  const options = `
    import { Mailbrook } from 'mailbrook'
    const { KEY: apiKey, URL: baseUrl, ID: idempotencyKey } = process.env
    const signal = undefined as AbortSignal | undefined
    const client = new Mailbrook({ apiKey, baseUrl })
    await client.emails.send({ to: 'b@b.com' }, { idempotencyKey, signal })
    await client.emails.waitFor('x', { within: undefined, signal })
  `
  await writeFile(join(home, 'options.ts'), options)
  t.equal(await compile(['options.ts'], { exactOptionalPropertyTypes: true }), '')
})

t.test('the calls of the API reference compile', async t => {
  const calls = readMethods().map(method => `{\n${clientText(method)}\n}`)
  const head = "import { Mailbrook } from 'mailbrook'\nconst client = new Mailbrook({ apiKey: 'x' })\n"
  t.ok(calls.length > 150, `${calls.length} calls`)
  await writeFile(join(home, 'reference.ts'), head + calls.join('\n'))
  t.equal(await compile(['reference.ts']), '')
})

/** Returns the errors of the compiler for these programs. */
async function compile(files: string[], more: object = {}): Promise<string> {
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2023', types: ['node'], ...more }
  await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  return run('tsc', [], { cwd: home, env: { ...process.env, PATH } }).then(
    () => '',
    error => error.stdout,
  )
}

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type Fault,
  findCircles,
  findFullFolders,
  findLayerFaults,
  findLongFiles,
  findLongFunctions,
  findPolls,
  findRoomFaults,
  type Tree,
} from '#test/support/house_rules.ts'
import { findLooseMatches } from '#test/support/loose_matches.ts'
import { ROOT } from '#test/support/root.ts'
import { findSlowPatterns } from '#test/support/slow_patterns.ts'
import { listFiles } from '#test/support/together.ts'
import { findUnusedExports } from '#test/support/unused_exports.ts'

/** The words of the API and its docs, in the order in which rooms may import. */
const SUBJECTS =
  'process files webhooks domains templates suppressions accounts safety request_log contacts topics polls tracking contents ' +
  'sending delivery receiving erasure segments campaigns events automations members config doctor'

/**
 * Rooms from left to right. `top` are the files beside the rooms: lib/errors.ts, sql/pool.ts and so on. lib/config.ts is
 * the room `config`, since it reads values with the parsers of net, files and delivery.
 */
const ROOMS = { lib: `top async json net files mail ${SUBJECTS}`, sql: `top ${SUBJECTS}`, flows: SUBJECTS }

const MAX_FILE = 150
const MAX_FUNCTION = 50
const MAX_FOLDER = 15

/** Each exception with its reason; an exception that is no longer needed fails. Tests are only checked for imports. */
const LONG_FILES = {}
const LONG_FUNCTIONS = {
  'sql/sending/emails.ts findEmail': 'one statement',
}
const FULL_FOLDERS = {
  'sql/migrations': 'one file per change of the schema',
}

/** By path and the beginning of the pattern: how long a text can be. */
const SLOW_PATTERNS = {
  'client/cli/input/arguments.ts ^Unknown option ': 'an argument of the command line',
  'lib/delivery/refusal_words.ts [^\\s<>()]+@[^\\s<': 'replies and notices of up to 1,000 characters',
  'lib/delivery/relay_urls.ts \\s*,\\s*(?=smtps?': 'a variable of the operator',
  'lib/mail/address.ts ^(?:[^:]*:)?\\s*\\': 'a text of up to 1,000 characters',
  'lib/receiving/parse/text_decoder.ts <meta\\s[^>]*?cha': 'the first 4,096 bytes',
  'lib/receiving/replies/ask_category.ts <\\s*\\/?\\s*reply': 'the first 4,000 characters',
  'lib/receiving/replies/categorize_reply.ts [^.!?;·]*$': 'the 60 characters before a phrase',
  'lib/receiving/replies/own_text.ts ^(?:-{2,}\\s*(?:o': 'a line of up to 400 characters',
  'lib/receiving/reports/read_report.ts <([^>]*)>': 'the first 1,000 characters of a field',
  'lib/receiving/reports/read_report.ts <[^>]*>': 'the same',
  'lib/receiving/reports/text_bounce.ts ^[ \\t>]*-{2,}.{0':
    'its parts that end with `.*` always reach the end of their line',
}

/** Exports that the test runner calls. */
const RUNNER_EXPORTS = {
  'test/setup.ts globalSetup': 'called before all tests',
  'test/setup.ts globalTeardown': 'called after all tests',
}

const paths = globSync('*/**/*.{ts,sql}', { cwd: ROOT, exclude: name => name === 'node_modules' }).sort()
const all: Tree = new Map(paths.map(path => [path, readFileSync(join(ROOT, path), 'utf8')]))
/** Without what `npm run docs` generates. */
const written: Tree = new Map([...all].filter(([path]) => !path.includes('/generated/')))
const source: Tree = new Map([...written].filter(([path]) => !path.startsWith('test/')))
const tests: Tree = new Map([...all].filter(([path]) => path.startsWith('test/')))
/** Without what makes the docs, which reads only our own texts. */
const running: Tree = new Map([...source].filter(([path]) => !path.startsWith('docs/')))
/** tasks/ is flat. */
const rooms: Tree = new Map([...source].filter(([path]) => !path.startsWith('tasks/')))

function check(t: Test, faults: Fault[], exceptions: Record<string, string> = {}): void {
  t.strictSame(
    faults.filter(({ key }) => !exceptions[key]),
    [],
  )
  const keys = new Set(faults.map(({ key }) => key))
  t.strictSame(
    Object.keys(exceptions).filter(key => !keys.has(key)),
    [],
    'every exception is needed',
  )
}

t.test('layers import only the layers below them', async t => {
  t.ok(all.size > 500, 'the sources are found')
  check(t, findLayerFaults(all))
})
t.test('rooms import only rooms to their left', async t => check(t, findRoomFaults(source, ROOMS)))
t.test('no imports go in a circle, types included', async t => check(t, findCircles(all)))
t.test('files are short', async t => check(t, findLongFiles(source, MAX_FILE), LONG_FILES))
t.test('functions are short', async t => check(t, findLongFunctions(source, MAX_FUNCTION), LONG_FUNCTIONS))
t.test('every export is imported somewhere', async t =>
  check(
    t,
    findUnusedExports(all).filter(({ key }) => !key.includes('/generated/')),
    RUNNER_EXPORTS,
  ),
)
t.test('regular expressions take linear time', async t => check(t, findSlowPatterns(running), SLOW_PATTERNS))
t.test('tests poll by waitUntil', async t => check(t, findPolls(tests)))
t.test('tests compare lists and statuses exactly', async t => check(t, findLooseMatches(tests)))
t.test('only the indexer and the deletion of contents use the search index', async t => {
  const INTERNAL = /email_block|empty_blocks_of|search_terms\.ts|search_emails\b/
  const isOutside = (path: string) => !/^sql\/(?:sending\/search|migrations)\//.test(path)
  const users = [...source].filter(([path, text]) => isOutside(path) && INTERNAL.test(text)).map(([path]) => path)
  t.strictSame(users, ['flows/sending/index_emails.ts', 'sql/sending/forget_expired_emails.sql'])
})
t.test('folders hold few files', async t => check(t, findFullFolders(rooms, MAX_FOLDER), FULL_FOLDERS))

const keysOf = (faults: Fault[]) => faults.map(({ key }) => key)
const tree = (files: Record<string, string>): Tree => new Map(Object.entries(files))
const lines = (count: number) => '  count++\n'.repeat(count)

t.test('an import of a higher layer is found, whatever its form', async t => {
  const files = { 'sql/pool.ts': '', 'tasks/purge.ts': '', 'test/setup.ts': '', 'web/site.ts': '' }
  const faultsOf = (path: string, text: string) => keysOf(findLayerFaults(tree({ ...files, [path]: text })))
  t.strictSame(faultsOf('lib/a.ts', "import { sql } from '#sql/pool.ts'"), ['lib/a.ts -> sql/pool.ts'])
  t.strictSame(faultsOf('lib/a/b.ts', "export * from '../../sql/pool.ts'"), ['lib/a/b.ts -> sql/pool.ts'])
  t.strictSame(faultsOf('lib/a.ts', "type A = import('#sql/pool.ts').Pool"), ['lib/a.ts -> sql/pool.ts'])
  t.strictSame(faultsOf('lib/a.ts', "import '../sql/pool.ts'"), ['lib/a.ts -> sql/pool.ts'])
  t.strictSame(faultsOf('lib/a.ts', "import {\n  a,\n} from 'pg'"), ['lib/a.ts -> pg'])
  t.strictSame(faultsOf('api/a.ts', "import { purge } from '#tasks/purge.ts'"), ['api/a.ts -> tasks/purge.ts'])
  t.strictSame(faultsOf('workers/a.ts', "import '#test/setup.ts'"), ['workers/a.ts -> test/setup.ts'])
  t.strictSame(faultsOf('api/a.ts', "import '#web/site.ts'"), ['api/a.ts -> web/site.ts'])
  t.strictSame(faultsOf('extra/a.ts', ''), ['extra/a.ts'])
  t.strictSame(faultsOf('flows/a.ts', "import '#sql/pool.ts'\n// import '#test/setup.ts'"), [])
})

t.test('an import of a room to the right is found', async t => {
  const order = { lib: 'async top mail config' }
  const faultsOf = (path: string, text: string) =>
    keysOf(findRoomFaults(tree({ 'lib/mail/a/b.ts': '', 'lib/log.ts': '', [path]: text }), order))
  t.strictSame(faultsOf('lib/log.ts', "import type { B } from './mail/a/b.ts'"), ['lib/log.ts -> lib/mail/a/b.ts'])
  t.strictSame(faultsOf('lib/async/c.ts', "import '#lib/log.ts'"), ['lib/async/c.ts -> lib/log.ts'])
  t.strictSame(faultsOf('lib/config.ts', "import '#lib/mail/a/b.ts'"), [])
  t.strictSame(faultsOf('lib/mail/c.ts', "import './a/b.ts'\nimport '#lib/log.ts'"), [])
  t.strictSame(faultsOf('lib/cellar/c.ts', ''), ['lib/cellar/c.ts'])
})

t.test('a circle of types is found, and one through a thread', async t => {
  const circle = { 'lib/a.ts': "import type { B } from './b.ts'", 'lib/b.ts': "import type { C } from './c.ts'" }
  const types = tree({ ...circle, 'lib/c.ts': "import type { A } from './a.ts'", 'lib/d.ts': "import './a.ts'" })
  t.strictSame(findCircles(types), [
    { key: 'lib/c.ts -> lib/a.ts', because: 'lib/a.ts -> lib/b.ts -> lib/c.ts -> lib/a.ts' },
  ])
  const thread = tree({ 'lib/a.ts': "new URL('./b.ts', import.meta.url)", 'lib/b.ts': "import './a.ts'" })
  t.strictSame(keysOf(findCircles(thread)), ['lib/b.ts -> lib/a.ts'])
  t.strictSame(findCircles(tree({ ...circle, 'lib/c.ts': '' })), [])
})

t.test('a pattern that tries every place of a run of characters is found', async t => {
  const text = 'const [slow, fast] = [/ +$/, /(?<! ) +$/] as RegExp[]'
  t.strictSame(keysOf(findSlowPatterns(tree({ 'lib/a.ts': text }))), ['lib/a.ts  +$'])
})

t.test('a long file, a long function and a full folder are found', async t => {
  t.strictSame(findLongFiles(tree({ 'sql/a.sql': lines(4), 'sql/b.sql': lines(3) }), 3), [
    { key: 'sql/a.sql', because: '4 lines' },
  ])
  const text = [
    `export async function loud(\n  a: number,\n): Promise<void> {\n${lines(3)}}\n`,
    `const quiet = (a: number) => {\n${lines(4)}}\n`,
    `class A {\n  static #method<T>(a: T): T {\n  ${lines(4)}  }\n\n  get short() {\n    return 1\n  }\n}\n`,
    `function shape({\n  a,\n}: Options): Shape {\n${lines(3)}}\n`,
    `function short(): void {\n  if (a) {\n  ${lines(1)}  }\n}\n`,
  ].join('\n')
  t.strictSame(findLongFunctions(tree({ 'lib/a.ts': text }), 5), [
    { key: 'lib/a.ts loud', because: '7 lines' },
    { key: 'lib/a.ts quiet', because: '6 lines' },
    { key: 'lib/a.ts #method', because: '6 lines' },
    { key: 'lib/a.ts shape', because: '7 lines' },
  ])
  t.strictSame(keysOf(findFullFolders(tree({ 'lib/a/b.ts': '', 'lib/a/c.ts': '', 'lib/d.ts': '' }), 1)), ['lib/a'])
})

t.test('a loop that polls is found', async t => {
  const faultsOf = (text: string) => keysOf(findPolls(tree({ 'test/a.ts': text })))
  t.strictSame(faultsOf('  while (!(await isDone())) await sleep(20)'), ['test/a.ts'])
  t.strictSame(faultsOf('while (count < 2) await new Promise(resolve => setTimeout(resolve, 5))'), ['test/a.ts'])
  t.strictSame(faultsOf('  for (const limit = now() + MS; now() < limit; await sleep(50)) {'), ['test/a.ts'])
  t.strictSame(faultsOf('while (wanted.length > 0) await send(wanted.pop())\nawait sleep(5)'), [])
})

t.test('a match that cannot fail is found', async t => {
  const countOf = (...calls: string[]) =>
    findLooseMatches(tree({ 'test/a.ts': calls.map(call => `t.${'match'}(${call})`).join('\n') })).length
  t.equal(countOf('body, { data: [] }', 'await list(), [{ id }]'), 2)
  t.equal(countOf("await read(id), {\n  status: 'verified',\n}", 'a, { ...b, data: [...c] }'), 2)
  t.equal(
    countOf("body.data[0], { name: /^[a-z]/, text: ': [', id }", '[a], /^(?:[A-Z][a-z]+)+$/', "a('status: 1'), b"),
    0,
  )
})

t.test('an export that no other file imports is found', async t => {
  const files = {
    'lib/a.ts':
      'export const a = 1\nexport type B = number\nexport async function c(): Promise<void> {}\nexport default class D {}\n',
    'lib/e.ts': 'const f = 1\nconst g = 2\nexport { f, g as h }\n',
    'lib/i.ts': "import {\n  a as other,\n} from './a.ts'\nimport { h } from '#lib/e.ts'\n",
  }
  const faultsOf = (text: string) => keysOf(findUnusedExports(tree({ ...files, 'lib/j.ts': text })))
  t.strictSame(faultsOf(''), ['lib/a.ts B', 'lib/a.ts c', 'lib/a.ts default', 'lib/e.ts f'])
  t.strictSame(faultsOf("import D, { type B, c } from './a.ts'\nexport { f } from './e.ts'\n"), [])
  t.strictSame(faultsOf("import * as all from './a.ts'\nconst { f } = await import('./e.ts')\n"), [])
  t.strictSame(faultsOf("type C = import('./a.ts').B"), ['lib/a.ts c', 'lib/a.ts default', 'lib/e.ts f'])
})

t.test('npm test runs each test file once', async t => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const patterns = [...scripts.test.matchAll(/'(test\/[^']+)'/g)].map(([, pattern]) => pattern)
  const started = patterns.flatMap(pattern => globSync(pattern, { cwd: ROOT }).map(file => join(ROOT, file)))
  const alone = started.filter(file => !file.startsWith(join(ROOT, 'test/together/')))
  const grouped = started.filter(file => !alone.includes(file)).flatMap(listFiles)
  const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/together/**'] })
  t.strictSame([...alone, ...grouped].sort(), files.map(file => join(ROOT, file)).sort())
})

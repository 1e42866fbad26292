import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type Example, readExamples } from '#docs/generate/read_examples.ts'
import { setUp } from '#flows/accounts/create_sandbox.ts'
import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import { startApi } from '#test/support/api.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { publish } from '#test/support/dns/publish.ts'
import { ALLOWED, startServer } from '#test/support/http/fetching.ts'
import { Answers, Terminal, wordsOf } from '#test/support/markdown_examples.ts'
import { ROOT } from '#test/support/root.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { openWorld } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'
import { startWorker } from '#workers/worker.ts'

/** How long a response may differ from the page. */
const READING_MS = 10_000
const FILE = 'https://www.rfc-editor.org/rfc/rfc2606.txt'
const page = await readFile(join(ROOT, 'docs', 'examples.md'), 'utf8')

const files = await startServer(t, (_, response) => response.end(Buffer.alloc(8_008)))
const { server, zone } = await startZone(t)
const world = await openWorld(t, {
  ...{ SENDS_PER_MINUTE: '60', FETCH_ALLOW: ALLOWED, FETCH_PORTS: `443,${files}` },
  ...{ DNS_SERVERS: server, SERVER_DOMAIN: 'mail.acme.net', HELO_NAME: 'mail.acme.net', SMTP_PORT: '0' },
})
const key = (await setUp(world.pool, world.secrets)) as string
const worker = await startWorker(world)
t.teardown(() => worker.stop())
const smtp = await startSmtp(world)
t.teardown(() => smtp.stop())
const api = await startApi(t, world, key)
world.config.BASE_URL = api.url // the port was not known before

const skip = { skip: spawnSync('curl', ['--version']).error ? 'there is no curl' : false }

/** The page, adapted to this server, this key, and no access to the internet. */
const examples = readExamples(
  page
    .replaceAll('http://localhost:3000', api.url)
    .replaceAll('smtp://localhost:2525', `smtp://localhost:${smtp.port}`)
    .replaceAll('mb_...', key)
    .replaceAll(FILE, `http://${ALLOWED}:${files}/rfc2606.txt`),
)
const terminal = new Terminal(ROOT)
t.teardown(() => terminal.close())
const answers = new Answers()

t.test('docs/examples.md has examples', async t => {
  t.ok(examples.length > 25, `${examples.length}`)
})

for (const [index, example] of examples.entries()) {
  t.test(`example ${index + 1} of docs/examples.md: ${example.title}`, skip, async t => {
    if (example.code.includes('/verify')) await publishAll()
    const found = await settled(example)
    const isSo = answers.fits(example.answer, found)
    t.ok(isSo, 'it answers what the page says', isSo ? {} : { found, page: example.answer })

    // The comparison fails when any word differs.
    const words = wordsOf(example.answer)
    const others = words.map((_, i) => words.with(i, 'another').join('\n')).filter((_, i) => words[i] !== '...')
    t.strictSame(
      others.filter(other => answers.fits(other, found)),
      [],
    )
  })
}

/** Publishes the records, like a reader at their DNS provider. */
async function publishAll(): Promise<void> {
  const { body } = await api.request('GET', '/api/domains')
  for (const { id } of (body as unknown as { data: { id: string }[] }).data) {
    const domain = await api.request('GET', `/api/domains/${id}`)
    publish(zone, domain.body as unknown as PresentedDomain)
  }
}

/** The output. A command that only reads may come too early and is repeated. */
async function settled(example: Example): Promise<string> {
  const isReading = example.language === 'sh' && !/ -d | -X /.test(example.code)
  let found = ''
  const isSettled = async () => {
    found = await terminal.run(example)
    return !isReading || answers.fits(example.answer, found)
  }
  // If it never matches, the test shows the difference.
  await waitUntil(isSettled, example.title, READING_MS).catch(() => {})
  return found
}

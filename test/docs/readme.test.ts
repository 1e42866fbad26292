import { createHmac } from 'node:crypto'
import { globSync } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Resend } from 'resend'
import t from 'tap'
import { setUp } from '#flows/accounts/create_sandbox.ts'
import { startApi } from '#test/support/api.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { ROOT } from '#test/support/root.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { USAGE } from '#workers/admin/commands.ts'

const read = (path: string) => readFile(join(ROOT, path), 'utf8')
const readme = await read('README.md')
/** The pages by name, without the examples, which have their own test. */
const pages = Object.fromEntries(
  await Promise.all(
    [
      'api',
      'architecture',
      'automations',
      'campaigns',
      'configuration',
      'contacts',
      'direct',
      'domains',
      'operating',
      'receiving',
      'sending',
      'style',
      'webhooks',
    ].map(async name => [name, await read(`docs/${name}.md`)] as const),
  ),
) as Record<string, string>
const all = [readme, ...Object.values(pages)].join('\n')
const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))

t.test('the docs name every npm script, and no others', async t => {
  const named = Array.from(
    all.matchAll(/\bnpm (?:run (?:-s )?([\w:]+)|(start|test)\b)/g),
    ([, run, short]) => run ?? short,
  )
  t.strictSame([...new Set(named)].sort(), Object.keys(scripts).sort())
})

t.test('docs/operating.md has the usage of npm run admin', async t => {
  const lines = USAGE.trim().split('\n').slice(0, -1)
  const usage = /^ {4}npm run admin -- account create .*\n(?: {4}.+\n)+/m.exec(pages.operating as string)?.[0] ?? ''
  const wordsOf = (line: string) => line.replace('npm run admin --', '').trim()
  t.equal(lines.length, 28)
  t.strictSame(lines.map(wordsOf), usage.trim().split('\n').map(wordsOf))
})

t.test('every file named in the docs exists', async t => {
  const whole = all.match(
    /(?<![\w./-])(?:(?:api|docs|flows|lib|sql|tasks|test|web|workers|\.ci)\/[\w./]*\w|\.env\.\w+|Procfile)/g,
  )
  const folders = Array.from(all.matchAll(/^ {4}(\w+\/) {2,}(.*)/gm), ([, folder = '', text = '']) =>
    ['', ...(text.match(/\b\w+(?:\.ts|\/)/g) ?? [])].map(name => folder + name),
  )
  const paths = [...new Set([...(whole ?? []), ...folders.flat()])]
  t.ok(paths.length > 25, `${paths.length} files`)
  for (const path of paths) await t.resolves(access(join(ROOT, path)), path)
})

t.test('the first curl command of the README sends, with the responses it shows', async t => {
  const world = await openWorld(t)
  const key = await setUp(world.pool, world.secrets)
  const api = await startApi(t, world, key as string)
  const [, path = '', body = ''] = /curl http:\/\/localhost:3000(\S+) .*\\\n.*-d '(.*)'\n/.exec(readme) ?? []
  const { status, body: answer } = await api.request('POST', path, { raw: body })
  t.equal(status, 200)
  t.match(answer, { id: /^[0-9a-f-]{36}$/ })
  t.strictSame(Object.keys(answer), ['id'])

  const [example = ''] = /\[\{ "recipient": [^\]]*\]/.exec(pages.sending as string) ?? []
  const waiting = await api.request('GET', `${path}/${answer.id}`)
  const { queue } = waiting.body as unknown as { queue: object[] }
  t.strictSame(Object.keys(JSON.parse(example)[0]), Object.keys(queue[0] ?? {}))
  shows(t, queue, [{ state: 'queued', attempts: 0, last_reply: null }])

  const work = openWork(t, world)
  await deliverEmails(work, [answer.id])
  const { body: email } = await api.request('GET', `${path}/${answer.id}`)
  shows(t, email, { object: 'email', status: 'delivered', events: [{ type: 'sent' }, { type: 'delivered' }] })
  t.notOk('queue' in email)
})

const AsyncFunction = (async () => {}).constructor as FunctionConstructor
const resend = new Resend('re_x')

t.test('the receiver in docs/webhooks.md accepts our webhooks and refuses others', async t => {
  const [, code = ''] = /^```js\n(import { createHmac.*?)^```$/ms.exec(pages.webhooks as string) ?? []
  const { isFromMailbrook } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  const hook = await startHook(t)
  const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(hook.port) })
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const { id, signing_secret: secret } = await addWebhook(world, account.id, { endpoint: hook.url, events: ['*'] })
  const work = openWork(t, world, 'capture')
  await deliverEmails(work, [await acceptEmail(world, account, { subject: 'Grüße 🦄' })])
  await work.webhooks.offer([{ account_id: account.id, id: Number(id) }])
  await work.webhooks.idle()
  await api.request('POST', `/api/webhooks/${id}/test`)

  t.strictSame(
    hook.posted.map(({ json }) => json.type),
    ['email.sent', 'email.delivered', 'test'],
  )
  const [, withPackages = ''] = /^```js\n(new \(await import.*?)^```$/ms.exec(pages.webhooks as string) ?? []
  const verify = new AsyncFunction('secret', 'body', 'headers', 'resend', 'id', 'timestamp', 'signature', withPackages)
  for (const { headers, body } of hook.posted) {
    t.equal(isFromMailbrook(secret, headers, body), true)
    const parts = ['id', 'timestamp', 'signature'].map(name => headers[`webhook-${name}`])
    await t.resolves(verify(secret, body.toString(), headers, resend, ...parts))
    await t.rejects(verify(secret, `${body} `, headers, resend, ...parts))
    t.equal(isFromMailbrook(`${secret}x`, headers, body), false)
    t.equal(isFromMailbrook(secret, headers, Buffer.concat([body, Buffer.from(' ')])), false)
    t.equal(isFromMailbrook(secret, {}, body), false)
    const signature = String(headers['x-service-signature'])
    for (const wrong of [
      '',
      signature.slice(1),
      `${signature}0`,
      signature.toUpperCase(),
      'ü'.repeat(32),
      '0'.repeat(64),
    ]) {
      t.equal(isFromMailbrook(secret, { ...headers, 'x-service-signature': wrong }, body), false, wrong)
    }
    for (const [shift, isRecent] of [
      [0, true],
      [-290, true],
      [290, true],
      [-310, false],
      [310, false],
      [NaN, false],
    ] as const) {
      const timestamp = String(Math.floor(Date.now() / 1_000) + shift)
      const signed = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')
      const moved = { ...headers, 'x-service-timestamp': timestamp, 'x-service-signature': signed }
      t.equal(isFromMailbrook(secret, moved, body), isRecent, `${shift} s`)
    }
  }
})

t.test('the README is short, and every link of the docs leads to a page and heading', async t => {
  t.ok(readme.split('\n').length <= 120, `${readme.split('\n').length} lines`)
  for (const path of ['README.md', ...globSync('docs/*.md', { cwd: ROOT })]) {
    for (const [, target = '', anchor] of (await read(path)).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const linked = target === '' ? path : join(dirname(path), target)
      await t.resolves(access(join(ROOT, linked)), `${path}: ${target}`)
      if (anchor) t.ok(anchorsOf(await read(linked)).includes(anchor), `${path}: ${target}#${anchor}`)
    }
  }
})

/** The anchors that GitHub generates for the headings of a page. */
function anchorsOf(markdown: string): string[] {
  return Array.from(markdown.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

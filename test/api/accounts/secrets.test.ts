import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { dkimContext } from '#flows/domains/signing_keys.ts'
import { generateApiKey } from '#lib/api_key.ts'
import { createLog } from '#lib/log.ts'
import { type DkimKeyRow, listSigningKeys } from '#sql/domains/dkim_keys.ts'
import { setTransportFault } from '#sql/safety/platform.ts'
import { type RequestOptions, startApi } from '#test/support/api.ts'
import { dumpTables, formsOf } from '#test/support/database/dump.ts'
import { ALLOWED, startServer } from '#test/support/http/fetching.ts'
import { startS3Server } from '#test/support/http/s3_server.ts'
import { readLogs } from '#test/support/request_log.ts'
import { deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { startEchoingRelay } from '#test/support/smtp/echoing_relay.ts'
import { newAccount, openWorld, SECRET_KEY } from '#test/support/world.ts'

// Secrets are put wherever the system accepts one, failures that might leak them are provoked, and everything stored,
// logged and returned is searched for them.

/** Control characters and line separators, as callers and servers may send them. */
const HOSTILE = '\u001b[2J\u202egnp\u2028{"level":30}\u0085'

const canary = (name: string) => `canary${name.replaceAll(' ', '')}7261x`
const relay_password = canary('relay password')
const url_secret = canary('url secret')
const content = canary('content')
const mail = canary('mail')
const template_password = canary('template password')

const s3 = await startS3Server(t)
const relay = await startEchoingRelay(t, HOSTILE)
const port = await startServer(t, (_request, response) => response.writeHead(404).end(url_secret))

const world = await openWorld(t, {
  BLOB_STORE: s3.url,
  MAIL_TRANSPORT: `smtp://relay-user:${relay_password}@127.0.0.1:${relay.port}`,
  ...{ FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(port), BATCH_DEADLINE_MS: '5000' },
})
const { pool } = world
const account = await newAccount(world)
const stranger = generateApiKey()
const [sealed] = (await listSigningKeys(pool, account.id, account.domain_id)) as [DkimKeyRow]
const dkimKey = world.secrets.open(sealed.private_key, dkimContext(sealed))
const lines: string[] = []
const foundation = { ...world, log: createLog('trace', { write: line => void lines.push(line) }) }
const api = await startApi(t, foundation, account.key)
const kept = { ...foundation, config: { ...world.config, BLOB_STORE: 'postgres', MAIL_TRANSPORT: 'capture' } }
const keepingApi = await startApi(t, kept, account.key)
const answers: string[] = []
let requests = 0

async function ask(expected: number, method: string, path: string, options: RequestOptions = {}, at = api) {
  const answer = await at.request(method, `/api${path}`, options)
  if (answer.status !== expected) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
  if (options.key === undefined) requests++
  answers.push(answer.text, JSON.stringify([...answer.headers]))
  return answer.body
}

const fileOf = (n: number) => ({
  filename: 'a.txt',
  content: Buffer.from(`${n} ${content.repeat(100)}`).toString('base64'),
})
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: mail, html: `<p>${mail}</p>` }
const send = (fields: object, expected = 200, at = api) =>
  ask(expected, 'POST', '/emails', { body: { ...email, ...fields } }, at)

async function deliver(id: string, given = foundation): Promise<void> {
  const work = openWork(t, given)
  await deliverEmails(work, [id])
  await setTransportFault(pool, null) // else the refused login would stop sends for a minute
  answers.push(JSON.stringify(await readEmail(given, account, id)))
}

async function without(table: string, act: () => Promise<unknown>): Promise<void> {
  await pool.pg.query(`ALTER TABLE ${table} RENAME TO gone`)
  await act()
  await pool.pg.query(`ALTER TABLE gone RENAME TO ${table}`)
}

t.test('requests and deliveries run and fail in ways that could leak secrets', async t => {
  const path = `http://${ALLOWED}:${port}/${encodeURIComponent(HOSTILE)}`
  await deliver((await send({ attachments: [fileOf(1)] })).id)
  t.ok(relay.logins.length > 0)
  t.match(answers.at(-1), /535 5\.7\.8/, 'the reply of the relay is shown')
  await deliver((await send({ attachments: [fileOf(2)] }, 200, keepingApi)).id, kept)
  await deliver((await send({ attachments: [{ filename: 'b.txt', path: `${path}?sig=${url_secret}` }] })).id)
  await send({ attachments: [{ path: `http://ann:${url_secret}@${ALLOWED}:${port}/` }] }, 422)

  s3.refuse(/PUT/, 503, 'Slow\u202enwoD\u2028')
  await send({ attachments: [fileOf(3)] }, 503)

  const html = 'Your password is {{password}}'
  const { id } = await ask(201, 'POST', '/templates', { body: { name: 'welcome', subject: 'Hi', html } })
  await ask(200, 'POST', `/templates/${id}/publish`)
  const variables = { password: template_password, secret_note: template_password }
  await send({ ...{ subject: undefined, html: undefined }, template: { id, variables } })
  await ask(200, 'POST', '/emails/batch', { body: [email, email] })

  await ask(403, 'GET', '/emails', { key: stranger })
  await ask(403, 'GET', `/emails?key=${stranger}`, { key: null, headers: { authorization: `Basic ${stranger}` } })
  for (const key of [account.key, stranger]) {
    await ask(404, 'GET', `/emails/${key}`, { headers: { 'user-agent': `curl ${key}` } })
    await ask(200, 'GET', `/emails?q=${key}`)
    await ask(404, 'POST', `/keys/${key}`, { body: { name: key, note: `it is ${key}.` } })
    await without('api_keys', () => ask(500, 'GET', `/keys/${key}?key=${key}`, { key: stranger }))
  }
  await without('email_contents', () => send({}, 503))
  await pool.pg.query('ALTER TABLE emails ADD CONSTRAINT short CHECK (length(subject) < 5) NOT VALID')
  await send({ reply_to: `${mail}@b.com` }, 500)
  await pool.pg.query('ALTER TABLE emails DROP CONSTRAINT short')
  const hostile = encodeURIComponent(`${HOSTILE}\r\n{"level":30}`)
  await without('api_keys', () => ask(500, 'GET', `/${hostile}`, { key: stranger }))
  await ask(404, 'GET', `/${hostile}`, {
    headers: {
      'user-agent': Buffer.from(HOSTILE)
        .toString('latin1')
        .replace(/\p{Cc}/gu, '?'),
    },
  })
  await send({ to: [`${HOSTILE}@b.com`] }, 422)
  await send({ attachments: [{ ...fileOf(1), filename: HOSTILE }] }, 422)
})

/** Each secret, and the tables that may hold it. */
const PLACES: [secret: string | Buffer, name: string, places: RegExp | null][] = [
  [account.key, 'an API key', null],
  [account.sending_key, 'another', null],
  [stranger, 'a key that is not known', null],
  [SECRET_KEY, 'SECRET_KEY', null],
  [world.secrets.pepper, 'what API keys are hashed with', null],
  [dkimKey.subarray(-100, -52), 'the private part of a DKIM key', null],
  [relay_password, 'the password of the relay', null],
  ['se/cr+et', 'the secret of the bucket', null],
  // The file is fetched from this URL when the email is sent, and at each retry.
  [url_secret, 'the secret in a URL', /^public\.attachments$/],
  // Mail and files are kept on purpose.
  [content, 'what an attachment holds', /^public\.(?:blobs|captured_messages)$/],
  [template_password, 'a password that a template was filled in with', /^public\.email_contents$/],
]

t.test('tables hold no secret except where they must', async t => {
  await readLogs(pool, account, requests)
  const tables = await dumpTables(pool)
  for (const [secret, name, places] of PLACES) {
    const found = [...tables].filter(([, text]) => formsOf(secret).some(form => text.includes(form)))
    const names = found.map(([table]) => table)
    t.strictSame(
      names.filter(table => !places?.test(table)),
      [],
      name,
    )
    if (places) t.ok(names.length > 0, `${name} was there to be found`)
  }
  for (const table of ['public.batches', 'public.idempotency_keys', 'graphile_worker._private_jobs']) {
    t.notMatch(tables.get(table), mail, `${table} holds no mail`)
  }
})

t.test('logs and responses hold no secret', async t => {
  t.ok(lines.length >= 8 && answers.length > 40, `${lines.length} lines, ${answers.length} answers`)
  const requestLog = JSON.stringify(await readLogs(pool, account, requests))
  for (const [secret, name] of PLACES) {
    for (const form of formsOf(secret)) {
      t.notOk(lines.join('').includes(form), `${name} in the log`)
      t.notOk(requestLog.includes(form), `${name} in the request log`)
      t.notOk(answers.filter(text => text.includes(form)).length, `${name} in a response`)
    }
  }
  t.notOk(lines.join('').includes(mail), 'and the log contains no mail')
})

t.test('each log record is one line of JSON, and each request one row', async t => {
  for (const line of lines) {
    t.equal(line.search(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u), line.length - 1, line)
    t.doesNotThrow(() => JSON.parse(line))
  }
  await sleep(500) // time for extra rows, which must not appear
  t.equal((await readLogs(pool, account, requests)).length, requests)
})

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { canonicalJson } from '#lib/json/canonical_json.ts'
import { findEarlierRelease, NoEarlierRelease, unpackRelease } from '#test/faults/support/earlier_release.ts'
import { checkKeys } from '#test/faults/support/load.ts'
import { findViolations } from '#test/faults/support/oracle.ts'
import { Release } from '#test/faults/support/release.ts'
import {
  type Account,
  openUpgrade,
  prepareDatabase,
  readStates,
  type Upgrade,
  waitForEnd,
} from '#test/faults/support/upgrade.ts'
import { type Api, openApi } from '#test/support/api.ts'
import { copyDatabase, createEmptyDatabase } from '#test/support/database/database.ts'
import { checkCopies, ENDS } from './upgrade/ends.ts'
import { receive, sendEqual, startLoad, startReceiving } from './upgrade/light_load.ts'
import { checkContents, createTemplate, openMailbox } from './upgrade/mail.ts'
import { ManyStates } from './upgrade/many_states.ts'

// Applies the newest migration to the data and processes of the previous release. test/faults/upgrade.ts uses a heavy load.

const PER_STEP = 40 // requests
const ALONE_MS = 1_000 // how long the earlier worker is alone with emails of the later API

type Prepared = { directory: string; database: string; account: Account }

const prepared = await prepare().catch(error => {
  if (error instanceof NoEarlierRelease) return error
  throw error
})
const missing = prepared instanceof NoEarlierRelease && `there is no earlier release here: ${prepared.message}`

/** A database of the earlier release, of which each test gets a copy. */
async function prepare(): Promise<Prepared> {
  const directory = await unpackRelease(findEarlierRelease())
  const url = await createEmptyDatabase(t)
  const account = await prepareDatabase(new Release(directory, url))
  return { directory, database: new URL(url).pathname.slice(1), account }
}

async function open(t: Test): Promise<Upgrade> {
  const { directory, database, account } = prepared as Prepared
  const upgrade = openUpgrade(directory, await copyDatabase(t, database), account)
  t.teardown(upgrade.close)
  return upgrade
}

t.test('emails in every state continue after a migration', { skip: missing }, async t => {
  const upgrade = await open(t)
  const { earlier, later, account, url } = upgrade
  const mailbox = await openMailbox(t)
  const environment = { BATCH_DEADLINE_MS: '100000' }
  const [web, worker] = await Promise.all([earlier.startWeb(environment), earlier.startWorker(mailbox.environment)])
  const mail = new ManyStates(upgrade, openApi(web.url, account.key))
  await mail.settle()
  await mail.kill(worker, mailbox.sink.ledger)
  await mail.wait()
  const before = await readEmails(mail.api)
  web.child.kill('SIGKILL')
  await web.child.ended

  const migrated_at = Date.now()
  await later.migrate()
  mail.api = openApi((await later.startWeb(environment)).url, account.key)
  const after = await readEmails(mail.api)
  const different = [...before].filter(([path, text]) => after.get(path) !== text)
  const shown = different.slice(0, 3).map(([path, text]) => ({ path, before: text, after: after.get(path) }))
  t.strictSame(shown, [], 'every email reads as it did before')
  t.strictSame(await mail.replay(), [], 'every Idempotency-Key gets its first answer')
  await mail.release()
  await Promise.all([
    later.startWorker(mailbox.environment),
    later.admin('domain', 'resume', account.paused, '--account', account.name),
  ])
  await mail.post('/api/emails/batch', mail.batch, 'batch')
  await waitForEnd(upgrade)

  const { ledger } = mailbox.sink
  t.strictSame(await readStates(upgrade), { ...ENDS, ...mail.batchEnds }, 'every delivery comes to its end')
  t.strictSame(await findViolations(url, { sent: ledger, answered: mail.ids }), [], 'the oracle finds nothing')
  checkCopies(t, ledger, { migrated_at, soon: mail.soon.getTime() })
  checkContents(t, await mailbox.read())
})

t.test('processes of the earlier release continue during a migration', { skip: missing }, async t => {
  const upgrade = await open(t)
  const { earlier, later, account, pool, url } = upgrade
  const mailbox = await openMailbox(t)
  await pool.pg.query('UPDATE domains SET receiving = true')
  const starting = [earlier.startWeb(), earlier.startWorker(mailbox.environment), startReceiving(earlier)] as const
  const [web, worker, smtp_port] = await Promise.all(starting)
  const api = openApi(web.url, account.key)
  await createTemplate(api)

  const during = startLoad(t, upgrade, [web.url])
  await during.accepts(PER_STEP)
  await later.migrate()
  await during.accepts(PER_STEP)
  await during.stop()
  // A release may ask to retry requests that were in progress while functions were replaced; one that does not retry such a
  // statement itself (sql/retry.ts) may fail. Nothing else is refused.
  const {
    '503 sending_service_unavailable, retry-after 5': retried = 0,
    '500 internal_server_error, retry-after undefined': failed = 0,
    ...refused
  } = during.refusals
  t.strictSame(refused, {}, 'the earlier API accepts everything')
  t.ok(retried + failed < PER_STEP / 10, `${retried} were to be retried, ${failed} failed`)
  await waitForEnd(upgrade) // by the earlier worker
  t.equal(await receive(t, smtp_port, account.domain, api), '250 2.0.0 Stored', 'the earlier processes receive mail')

  const newWeb = await later.startWeb()
  const beside = startLoad(t, upgrade, [web.url, newWeb.url], 1_000_000)
  const equal = await sendEqual(upgrade, openApi(newWeb.url, account.key))
  await beside.accepts(PER_STEP)
  await sleep(ALONE_MS)
  await later.startWorker(mailbox.environment)
  await beside.stop()
  t.strictSame(beside.refusals, {}, 'both APIs accept everything')
  await Promise.all([worker.stop(), web.child.stop()])
  await waitForEnd(upgrade)

  const { ledger } = mailbox.sink
  const ids = [during, beside].flatMap(({ ids }) => [...ids.values()].flatMap(set => [...set]))
  t.strictSame(
    await findViolations(url, { sent: ledger, answered: [...ids, ...equal] }),
    [],
    'the oracle finds nothing',
  )
  for (const load of [during, beside]) t.strictSame(await checkKeys(upgrade, load), [], 'an email for each key')
  const states = new Set(Object.values(await readStates(upgrade)).map(state => state.split(' ')[0]))
  t.strictSame([...states], ['delivered'], 'everything is delivered')
  t.equal(ledger.length, ids.length + equal.length, 'nothing arrives twice')
  checkContents(t, await mailbox.read())
})

/** The list of emails and each email by its path. The reason an email waits is left out, since it depends on the time. */
async function readEmails(api: Api): Promise<Map<string, string>> {
  const answers = new Map<string, string>()
  const read = async (path: string) => {
    const { status, text } = await api.request('GET', path)
    if (status !== 200) throw new Error(`${path}: ${text}`)
    const answer = JSON.parse(text)
    answers.set(path, canonicalJson(answer).replaceAll(/"reason":"It is [^"]*"/g, ''))
    return answer
  }
  const { data } = await read('/api/emails?limit=100')
  for (const { id } of data) await read(`/api/emails/${id}`)
  return answers
}

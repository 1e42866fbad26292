import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { parseNetworks } from '#lib/net/client_address.ts'
import { startApi, startProxiedApi } from '#test/support/api.ts'
import { writeAsnDatabase } from '#test/support/mmdb.ts'
import {
  BROWSER,
  makeCampaign,
  makeTracked,
  readFigures,
  readHits,
  type TrackedEmail,
  waitForHits,
} from '#test/support/tracking.ts'
import { readState } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)

const ask = (url: string, method = 'GET') =>
  fetch(url, { method, headers: { 'user-agent': BROWSER }, redirect: 'manual' })

t.test('HEAD requests and link scanners count as machines, a later person does not', async t => {
  const account = await newAccount(world)
  const { api } = await startProxiedApi(t, world, account.key)
  const campaign = await makeCampaign(world, account, 5)
  const email = await makeTracked(world, account, { campaign, links: 5, delivered_ago: 1 })
  const before = await readState(world, account)
  const paths = [email.open_path, ...email.click_paths]
  for (const path of paths) {
    await Promise.all(Array.from({ length: 100 }, () => ask(api.url + path, 'HEAD')))
  }
  await waitForHits(world, email, 600)
  t.strictSame(await readFigures(world, campaign), { machine_clicked: 1, machine_opened: 1 })

  const scanned = await makeTracked(world, account, { campaign, links: 5, delivered_ago: 1 })
  await Promise.all(scanned.click_paths.map(path => ask(api.url + path)))
  await waitForHits(world, scanned, 5)
  t.strictSame(await readFigures(world, campaign), { machine_clicked: 2, machine_opened: 1 })
  // The first four are contacts, their topics and their consents.
  t.strictSame(
    (await readState(world, account)).slice(0, 4).map(rows => (rows as unknown[]).length),
    [2, 0, 0, 0],
  )
  t.strictSame((before[0] as unknown[]).length, 1)

  const person = await makeTracked(world, account, { campaign, links: 5 })
  await ask(api.url + person.open_path)
  await ask(api.url + (person.click_paths[3] as string))
  await waitForHits(world, person, 2)
  t.strictSame(await readFigures(world, campaign), {
    ...{ clicked: 1, machine_clicked: 2, machine_opened: 1, opened: 1, unique_clicked: 1, unique_opened: 1 },
  })
})

t.test('links redirect while Postgres is away, and hits are recorded later', async t => {
  const account = await newAccount(world)
  const { api, proxy } = await startProxiedApi(t, world, account.key)
  const emails = await Promise.all(Array.from({ length: 20 }, () => makeTracked(world, account)))
  const visit = async (path: string, status: number) => {
    const response = await ask(api.url + path)
    if (response.status !== status) throw new Error(`${path}: ${response.status}`)
  }
  const visitAll = async () => {
    for (const email of emails) {
      await visit(email.open_path, 200)
      await visit(email.click_paths[0] as string, 302)
    }
  }
  await visit((emails[0] as TrackedEmail).open_path, 200)
  let connections = 0
  proxy.listener.on('connection', () => connections++)
  proxy.refuse(true)
  proxy.cut()
  await visitAll()
  await sleep(500)
  await visitAll()
  proxy.refuse(false)
  // The same while Postgres hangs.
  await waitForHits(world, emails[0] as TrackedEmail, 5)
  proxy.blackhole(true)
  await visitAll()
  proxy.blackhole(false)
  // A visit that asked Postgres would need a connection of its own: 120 in all.
  t.ok(connections < 20, `${connections} connections`)
  for (const email of emails) await waitForHits(world, email, 6)
  await sleep(300)
  t.strictSame(
    (await Promise.all(emails.map(email => readHits(world, email)))).map(hits => hits.length),
    [...[7, ...Array(19).fill(6)]],
  )
})

t.test("hits from a mail filter's network are machines for 10 minutes", async t => {
  const account = await newAccount(world)
  const file = join(t.testdir(), 'asn.mmdb')
  await writeFile(file, writeAsnDatabase([{ network: ['205.139.110.0', 24], system: 30_031 }]))
  const config = { ...world.config, ASN_DATABASE: file, TRUSTED_PROXIES: parseNetworks('127.0.0.1') }
  const api = await startApi(t, { ...world, config }, account.key)
  const visit = (path: string, ip: string) =>
    fetch(api.url + path, { headers: { 'user-agent': BROWSER, 'x-forwarded-for': ip }, redirect: 'manual' })
  const [fresh, old] = [await makeTracked(world, account), await makeTracked(world, account, { delivered_ago: 601 })]
  for (const email of [fresh, old]) {
    await visit(email.open_path, '205.139.110.7')
    await visit(email.open_path, '192.0.2.7')
    await visit(email.click_paths[0] as string, '205.139.110.7')
  }
  t.strictSame(
    (await waitForHits(world, fresh, 3)).map(({ rule }) => rule),
    ['mimecast_network', 'default', 'mimecast_network'],
  )
  t.strictSame(
    (await waitForHits(world, old, 3)).map(({ rule }) => rule),
    ['default', 'default', 'default'],
  )
})

t.test('a stopping API records the hits that it holds', async t => {
  const account = await newAccount(world)
  const email = await makeTracked(world, account)
  await t.test('stops', async t => {
    const api = await startApi(t, world, account.key)
    await ask(api.url + email.open_path)
    await ask(api.url + (email.click_paths[0] as string))
  })
  t.equal((await readHits(world, email)).length, 2)
})

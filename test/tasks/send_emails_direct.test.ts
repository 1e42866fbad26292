import t from 'tap'
import { send_emails } from '../../tasks/send_emails.ts'
import { MAIL_HOSTS, openMailHosts, publishMx } from '../mail_hosts.ts'
import { startZone } from '../name_server.ts'
import { acceptEmail, openWork, readEmail } from '../sending.ts'
import { newAccount, openWorld } from '../world.ts'

const { server, zone } = await startZone(t)
const hosts = await openMailHosts(t)
const world = await openWorld(t, {
  MAIL_TRANSPORT: 'direct',
  DNS_SERVERS: server,
  MX_PORT: String(hosts.port),
  MX_ALLOW: MAIL_HOSTS,
})
const account = await newAccount(world)
const work = openWork(t, world)

t.test('mail goes to the server that its domain names', async t => {
  const sink = await hosts.start(64)
  publishMx(zone, 'one.com', 64)
  const id = await send('ann@one.com')
  t.match(await readEmail(world, account, id), {
    status: 'delivered',
    events: [{ type: 'sent' }, { type: 'delivered', via: 'direct', reply: '250 2.0.0 Ok' }],
  })
  t.match(sink.ledger, [{ rcpt: 'ann@one.com' }])
})

async function send(to: string | string[]): Promise<string> {
  const id = await acceptEmail(world, account, { to })
  await send_emails({ email_ids: [id] }, work)
  await work.sender.idle()
  return id
}

import t from 'tap'
import { simulatedOutcome } from '#lib/mail/simulator.ts'

const play = (address: string, domain = address.slice(address.indexOf('@') + 1)) =>
  simulatedOutcome({ address, domain }, 'simulator.mailbrook.dev')

t.test('each mailbox of the simulator produces the outcome in its name', async t => {
  for (const outcome of ['delivered', 'bounced', 'complained', 'suppressed']) {
    t.equal(play(`${outcome}@simulator.mailbrook.dev`), outcome)
    t.equal(play(`${outcome}+user-7+x@simulator.mailbrook.dev`), outcome)
    t.equal(play(`${outcome.toUpperCase()}+Label@simulator.mailbrook.dev`), outcome)
  }
})

t.test('other mailboxes of the simulator are unknown', async t => {
  for (const local of ['nobody', 'delivered.', 'deliveredx', 'x+delivered', '+delivered', 'constructor', 'unknown']) {
    t.equal(play(`${local}@simulator.mailbrook.dev`), 'unknown', local)
  }
})

t.test('recipients at other domains are not simulated', async t => {
  for (const domain of ['b.co', 'mailbrook.dev', 'x.simulator.mailbrook.dev', 'simulator.mailbrook.dev.co']) {
    t.equal(play(`delivered@${domain}`), null, domain)
  }
})

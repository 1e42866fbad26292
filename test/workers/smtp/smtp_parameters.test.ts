import t from 'tap'
import { newReceiver } from '#test/support/receiving.ts'
import { connectClient } from '#test/support/smtp/smtp_client.ts'
import { listenForSubmission, logIn, submissionSettings } from '#test/support/smtp/submission.ts'
import { openWorld } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const world = await openWorld(t, { ...(await submissionSettings(t)), SMTP_PORT: '0' })
const account = await newReceiver(world)
const smtp = await startSmtp(world)
t.teardown(() => smtp.stop())
const submission = await listenForSubmission(t, world)

/** Parameters of MAIL and of RCPT, and the replies to both commands. */
type Case = [mail: string, rcpt: string, replies: RegExp]

const cases: Case[] = [
  ['', '', /^250 .*\n250 /],
  ['SIZE=9 BODY=8BITMIME SMTPUTF8', '', /^250 .*\n250 /],
  ['AUTH=<>', '', /^250 .*\n250 /],
  ['RET=HDRS ENVID=x', 'NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;a@b.com', /^250 .*\n250 /],
  ['FOO', '', /^555 5\.5\.4 The parameter FOO is not supported\n503 /],
  ['BY=60;R', '', /^555 5\.5\.4 The parameter BY is not supported\n503 /],
  ['SIZE=9 HOLDFOR=60', '', /^555 5\.5\.4 The parameter HOLDFOR is not supported\n503 /],
  ['NOTIFY=NEVER', '', /^555 5\.5\.4 The parameter NOTIFY /],
  ['', 'RRVS=2014-04-03T23:01:00Z', /^250 .*\n555 5\.5\.4 The parameter RRVS is not supported$/],
  ['', 'SIZE=9', /^250 .*\n555 5\.5\.4 /],
]

t.test('parameters of extensions that are not offered are refused', async t => {
  const client = await connectClient(t, smtp.port)
  await client.reply()
  t.notMatch(await client.command('EHLO client.test'), /DSN/)
  const sender = await logIn(t, account.key, submission)
  for (const [mail, rcpt, expected] of cases) {
    for (const peer of [client, sender]) {
      await peer.command('RSET')
      const first = await peer.command(`MAIL FROM:<a@${account.domain}> ${mail}`)
      t.match(`${first}\n${await peer.command(`RCPT TO:<b@${account.domain}> ${rcpt}`)}`, expected, `${mail} ${rcpt}`)
    }
  }
})

t.test('REQUIRETLS is refused for mail that may be sent without TLS', async t => {
  const sender = await logIn(t, account.key, submission)
  t.notMatch(sender.heard, /REQUIRETLS|DSN/)
  t.match(await sender.command(`MAIL FROM:<a@${account.domain}> REQUIRETLS`), /^555 5\.5\.4 .* REQUIRETLS /)
})

import fc from 'fast-check'
import t from 'tap'
import { judgeReply } from '#lib/delivery/judge_reply.ts'
import { namedDelay } from '#lib/delivery/named_delay.ts'
import { classifyReply } from '#lib/delivery/refusals/classify_reply.ts'
import { parseReply, type Stage } from '#lib/delivery/smtp_reply.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { namedDelays, realReplies } from '#test/support/smtp/smtp_replies.ts'

t.test('parseReply splits a reply into code, status and text, in any form', async t => {
  const replies: [string, number, string | null, string][] = [
    ['250 2.0.0 OK queued as 1a2b', 250, '2.0.0', 'OK queued as 1a2b'],
    ['550 No such user', 550, null, 'No such user'],
    ['550 5.1.1 <a@b.co>: Recipient address rejected', 550, '5.1.1', '<a@b.co>: Recipient address rejected'],
    [
      '550-5.1.1 The account that you tried\n550-5.1.1 does not exist.\n550 5.1.1 gsmtp',
      550,
      '5.1.1',
      'The account that you tried does not exist. gsmtp',
    ],
    ['550-no status here\r\n550 5.7.1 but here', 550, '5.7.1', 'no status here but here'],
    ['550 #5.7.1 Your access was denied', 550, '5.7.1', 'Your access was denied'],
    ['550 (5.1.1) unknown', 550, '5.1.1', 'unknown'],
    ['550 5.1.10: null MX', 550, '5.1.10', 'null MX'],
    ['550 sorry, no mailbox here by that name (#5.1.1)', 550, '5.1.1', 'sorry, no mailbox here by that name (#5.1.1)'],
    ['550 5.1.1.1 is blocked', 550, null, '5.1.1.1 is blocked'],
    ['550 15.1.1 x', 550, null, '15.1.1 x'],
    ['550-a\n554 b', 550, null, 'a b'],
    ['421', 421, null, ''],
    ['421\r\n', 421, null, ''],
    ['550-a \n550  b', 550, null, 'a b'],
    ['4511 x', 0, null, '4511 x'],
    ['HTTP/1.1 400 Bad Request', 0, null, 'HTTP/1.1 400 Bad Request'],
    ['', 0, null, ''],
    ['550 5.1.1 用户\u202e不存在 \ud83d', 550, '5.1.1', '用户?不存在 ?'],
    ['550 5.1.1 Benutzer für\tböse\u001b[31m\0Zwe\u2028cke', 550, '5.1.1', 'Benutzer für?böse?[31m?Zwe?cke'],
  ]
  for (const [reply, code, enhanced, text] of replies) t.strictSame(parseReply(reply), { code, enhanced, text })
})

t.test('the text of a reply is always safe to show and store', async t => {
  t.equal(parseReply(`550 5.1.1 ${'a'.repeat(5_000_000)}`).text.length, 1000)
  const safe = (text: string) => /^[^\p{C}\p{Zl}\p{Zp}\ufffd]{0,1000}$/u.test(parseReply(text).text)
  t.doesNotThrow(() => fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), safe)))
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc
          .array(fc.constantFrom('5', '50', ' ', '-', '.', '#', '\n', '\r\n', 'é', '\0'), { maxLength: 40 })
          .map(parts => parts.join('')),
        safe,
      ),
    ),
  )
})

const judge = (stage: Stage, reply: string) => Object.values(classifyReply({ ...parseReply(reply), stage })).join(' ')

t.test('a permanent rejection of the recipient is a bounce', async t => {
  for (const reply of [
    '550 no',
    '550 5.1.1 no',
    '550 5.1.10 no',
    '553 5.1.3 no',
    '550 5.2.1 no',
    '552 5.2.2 full',
    '550 5.5.0 no',
    '550 5.70.1 no',
  ]) {
    t.equal(judge('rcpt', reply), 'bounced recipient', reply)
  }
  for (const reply of ['550 5.1.1 no', '550 5.1.6 moved', '554 5.2.0 no', '550 5.2.1 off']) {
    t.equal(judge('data', reply), 'bounced recipient', reply)
    t.equal(judge('dot', reply), 'bounced recipient', reply)
  }
})

t.test('a rejection of the sender or the message fails the email and suppresses nobody', async t => {
  const verdicts: [Stage, string, string][] = [
    ['rcpt', '550 5.7.1 blocked', 'policy'],
    ['rcpt', '550 #5.7.1 blocked', 'policy'],
    ['rcpt', '550 5.7.26 unauthenticated', 'policy'],
    ['rcpt', '553 5.1.8 bad sender domain', 'sender'],
    ['rcpt', '553 5.1.7 bad sender syntax', 'sender'],
    ['mail', '550 no', 'sender'],
    ['mail', '550 5.1.0 sender rejected', 'sender'],
    ['mail', '550 5.2.1 sender rejected', 'sender'],
    ['mail', '553 5.1.8 no', 'sender'],
    ['mail', '550 5.7.1 no', 'policy'],
    ['mail', '550 5.6.7 no SMTPUTF8', 'content'],
    ['mail', '552 5.3.4 too big', 'size'],
    ['mail', '552 too big', 'size'],
    ['data', '554 no', 'content'],
    ['dot', '554 no', 'content'],
    ['dot', '550 5.6.0 malformed', 'content'],
    ['dot', '554 5.7.1 spam', 'policy'],
    ['dot', '552 no', 'size'],
    ['dot', '554 5.3.4 too big', 'size'],
    ['dot', '554 5.2.3 too big for the mailbox', 'size'],
    ['dot', '552 5.2.2 mailbox full', 'recipient'],
    ['dot', '550 5.11.1 x', 'content'],
  ]
  for (const [stage, reply, reason] of verdicts) t.equal(judge(stage, reply), `failed ${reason}`, `${stage} ${reply}`)
})

t.test('a rejection before MAIL, or for lack of a login or TLS, counts as our fault', async t => {
  for (const reply of ['554 5.7.1 no service', '550 5.1.1 x', '502 no', '535 5.7.8 bad credentials']) {
    t.equal(judge('connect', reply), 'deferred infrastructure', reply)
  }
  t.equal(judge('mail', '530 5.7.0 Must issue a STARTTLS command first'), 'deferred infrastructure')
  t.equal(judge('mail', '535 5.7.8 bad credentials'), 'deferred infrastructure')
  t.equal(judge('rcpt', '530 5.7.0 Authentication required'), 'deferred infrastructure')
})

t.test('any reply that is not a permanent rejection is retried', async t => {
  for (const stage of ['connect', 'mail', 'rcpt', 'data', 'dot'] as const) {
    for (const reply of ['421 bye', '450 4.2.0 greylisted', '452 4.2.2 full', '451 5.7.1 later', '499 x']) {
      t.equal(judge(stage, reply), 'deferred transient', `${stage} ${reply}`)
    }
    for (const reply of ['', 'garbage', '250 OK', '354 go', '600 x', '999 x']) {
      t.equal(judge(stage, reply), 'deferred infrastructure', `${stage} ${reply}`)
    }
  }
})

t.test('replies of real servers get the right outcome and bounce type', async t => {
  t.ok(realReplies.length >= 100)
  for (const [stage, reply, verdict, bounce] of realReplies) {
    const judged = judgeReply(reply, stage)
    t.equal(`${judged.outcome} ${judged.class}`, verdict, `${stage} ${reply}`)
    t.equal(`${judged.bounce.type} ${judged.bounce.subType}`, bounce, `${stage} ${reply}`)
    t.strictSame(judged.bounce.diagnosticCode, [`smtp; ${judged.reply}`])
  }
})

t.test('namedDelay reads the delay a server asks for, within bounds', async t => {
  for (const [text, seconds] of namedDelays) {
    t.equal(namedDelay(text), seconds, text)
    t.equal(judgeReply(text, 'rcpt').retry_after, seconds ?? undefined)
  }
  t.equal(judgeReply('550 try again in 300 seconds', 'rcpt').retry_after, undefined, 'a final reply has no delay')
})

t.test('judgeReply takes little time for hostile replies', async t => {
  const ms = await cpuMs(() => {
    for (const word of ['mailbox ', 'exceed', 'sender domain ', 'try again ', 'the message size', 'user', '1:']) {
      judgeReply(`450 ${word.repeat(400)}`, 'rcpt')
      judgeReply(`550 ${word.repeat(400)}`, 'dot')
    }
  })
  t.ok(ms < 2_000, `${ms} ms`)
})

import t from 'tap'
import { judgeReply } from '#lib/delivery/judge_reply.ts'
import { withoutAddresses } from '#lib/delivery/refusal_words.ts'
import { findRule, RULES } from '#lib/delivery/refusals/rules.ts'
import { parseReply, type Stage } from '#lib/delivery/smtp_reply.ts'
import { judgeRecipient } from '#lib/receiving/reports/judge_recipient.ts'
import { ALIVE, GONE } from '#test/support/mail/public_replies.ts'

/** Judges a reply as a delivery status notification quotes it, with the status it contains. */
function judgeReported(reply: string): string {
  const { code, enhanced, text } = parseReply(reply)
  const diagnostic = `smtp; ${code} ${enhanced ?? ''} ${text}`
  const verdict = judgeRecipient({
    address: 'ann@acme.com',
    original: null,
    action: 'failed',
    status: enhanced,
    diagnostic,
  })
  return `${verdict.outcome} ${verdict.class}`
}

function judgeInSession(reply: string): string {
  const verdict = judgeReply(reply, 'rcpt')
  return `${verdict.outcome} ${verdict.class}`
}

t.test('each rule matches its example reply', async t => {
  for (const rule of RULES) {
    const parsed = parseReply(rule.reply)
    const stage = (rule.stages?.at(-1) ?? 'rcpt') as Exclude<Stage, 'connect'>
    t.equal(findRule({ ...parsed, text: withoutAddresses(parsed.text), stage }), rule, rule.reply)
  }
})

t.test('words about the recipient decide, in other languages and beside a link too', async t => {
  const gone = [
    '550 5.1.1 RCP-P1 http://postmaster.facebook.com/response_codes?ip=192.0.2.54#rcp Recipient address does not exist',
    "550 because the address couldn't be found. Check for typos or unnecessary spaces and try again.",
    '550 5.7.1 Benutzer unbekannt',
    '550 Empf?nger unbekannt',
    '550 5.7.1 Utilisateur inconnu',
    '550 El usuario desconocido',
    '550 Utente sconosciuto',
    '550 收件人邮箱地址不存在',
    '550 無此使用者',
    '550 宛先のメールアドレスが見つかりません',
    '550 Нет такого пользователя',
    '550 Почтовый ящик не существует',
    '550 邮箱已满',
  ]
  for (const reply of gone) t.match(judgeReported(reply), / recipient$/, reply)
  const ours = '550 5.1.1 Blocked - see http://www.sophos.com/security/ip-lookup?ip=192.0.2.1'
  t.equal(judgeReported(ours), 'failed policy', ours)
  for (const reply of ['550 发件人地址不存在', '550 Адрес отправителя не существует']) {
    t.notMatch(judgeReported(reply), / recipient$/, reply)
  }
})

t.test('a server that refuses us or our sender at RCPT says nothing about the recipient', async t => {
  const rows: Record<string, string[]> = {
    'failed policy': [
      '550 Sender IP must resolve.',
      '550 Your domain acme.com has no MX',
      '550 5.1.1 Sorry, your domain does not exist',
      '550 Your hostname is bad',
      '550 Dynamic IP rejected',
      '550 Maximum number of recipients exceeded',
    ],
    'failed sender': [
      '550 Invalid envelope sender',
      '550 5.1.1 MAIL FROM domain has no MX',
      '550 no mx for sender domain',
      '550 Return path invalid',
      '550 Bad reverse-path',
      '550 callout failed',
      '550 Bounces not accepted',
      '550 Verify sender domain',
      '550 5.1.1 unable to verify user (sender)',
    ],
    'failed infrastructure': ['550 Server error', '550 Unexpected error', '550 Protocol error'],
    'failed transient': [
      '550 System busy',
      '550 Please try again later',
      '550 Unable to deliver message after multiple retries, giving up.',
      '550 Delivery failed 20 attempts',
      '550 all hosts have been failing for a long time',
      '550 The recipient server did not accept our requests to connect.',
    ],
  }
  for (const [verdict, replies] of Object.entries(rows)) {
    for (const reply of replies) t.equal(judgeInSession(reply), verdict, reply)
  }
})

t.test('words in a reply override a code that contradicts them', async t => {
  const rows: [verdict: string, reply: string][] = [
    [
      'failed transient',
      '550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
    ],
    ['failed transient', '550 Name service error for domain acme.com: Host not found, try again'],
    [
      'failed policy',
      '550 5.1.1 <ann@acme.com> - 192.0.2.1 has sent to too many recipients this hour. IB607 <http://x.co/rlbounce>',
    ],
    ['failed policy', '553 5.1.3 http://www.spamhaus.org/query/bl?ip=192.0.2.1'],
    ['failed policy', '550 5.2.0 Message Filtered'],
    ['failed policy', '550 5.2.0 Mail rejete. Mail rejected. OFR_506 [506]'],
    ['failed policy', '550 5.2.1 Mailbox unavailable. Your IP address 192.0.2.1 is blacklisted using SPAMHAUS-XBL.'],
    [
      'failed infrastructure',
      '550 5.1.1 procmail: Couldn\'t create "/var/spool/mail/neko" id: r.example.org: No such user',
    ],
    ['failed sender', '550 5.2.0 <hello@acme.com> From: Domain is invalid. Please provide a valid From: IB506'],
    ['bounced recipient', '550 Host unknown (Authoritative answer from name server)'],
    ['bounced recipient', '550 No mx record found for domain=acme.com'],
    ['bounced recipient', '550 5.7.27 Host does not accept mail'],
    ['bounced recipient', '550 5.7.27 null MX'],
    ['bounced recipient', '553 5.7.1 Invalid recipient ann@acme.com (Mode: normal)'],
    ['bounced recipient', "550 5.4.4 Sorry, I couldn't find a mail exchanger or IP address. (#5.4.4)"],
    ['bounced recipient', '550 5.7.1 No such user'],
    ['bounced recipient', '550 5.7.1 550 User Unknown: ann@acme.com'],
    ['bounced recipient', '525 5.7.13 <ann@acme.com>: Recipient address rejected: User account disabled.'],
    [
      'bounced recipient',
      '521 5.3.2 <ann@acme.com>: Recipient address rejected: System not accepting network messages.',
    ],
  ]
  for (const [verdict, reply] of rows) {
    t.equal(judgeInSession(reply), verdict, reply)
    // The server refused the message as a whole, not only this recipient.
    t.equal(judgeReported(reply).replace('failed content', 'failed policy'), verdict, `${reply}, reported`)
  }
})

t.test('replies that no rule was written for are classified correctly', async t => {
  const wrong = [
    ...GONE.filter(
      reply => judgeInSession(reply) !== 'bounced recipient' || !judgeReported(reply).endsWith(' recipient'),
    ),
    ...ALIVE.filter(
      reply => judgeInSession(reply).endsWith(' recipient') || judgeReported(reply).endsWith(' recipient'),
    ),
  ]
  t.same(wrong, [])
})

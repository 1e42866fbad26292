import t from 'tap'
import { isAutomatic } from '#lib/receiving/replies/automatic_mail.ts'
import { categorizeReply } from '#lib/receiving/replies/categorize_reply.ts'
import { ownText } from '#lib/receiving/replies/own_text.ts'
import { replies, traps } from '#test/support/mail/replies.ts'

t.test('categorizeReply gets under 3 % of replies wrong and leaves under 20 % open', async t => {
  t.ok(replies.length >= 120, `${replies.length}`)
  const judged = replies.map(([text, expected]) => ({ text, expected, found: categorizeReply(text) }))
  const wrong = judged.filter(({ expected, found }) => found !== null && found !== expected)
  for (const { text, expected, found } of wrong) t.comment(text, expected, found)
  t.ok(wrong.length < replies.length * 0.03, `${wrong.length} wrong`)
  const missed = judged.filter(({ expected, found }) => found === null && expected !== null)
  t.ok(missed.length < replies.length * 0.2, `${missed.length} missed`)
})

t.test('replies that are easily misread get the right category or none', async t => {
  const wrong = traps.filter(([text, expected]) => ![null, expected].includes(categorizeReply(text)))
  t.strictSame(
    wrong.map(([text]) => `${text} -> ${categorizeReply(text)}`),
    [],
  )
})

t.test('quoted text and signatures do not count for the category', async t => {
  const quoted = 'We are not interested. unsubscribe'
  const texts = [
    `Yes please!\n\nOn Fri, Nov 20, 2026 at 9:00 AM Tom <tom@acme.com> wrote:\n> ${quoted}`,
    `Yes please!\n\nOn Fri, Nov 20, 2026 at 9:00 AM Tom Longname Longer\n<tom@acme.com> wrote:\n\n${quoted}`,
    `Yes please!\r\n\r\n-----Original Message-----\r\nFrom: Tom\r\n\r\n${quoted}`,
    `Yes please!\n\n________________________________\nFrom: Tom <tom@acme.com>\nSent: Friday\n\n${quoted}`,
    `Yes please!\n\nVon: Tom <tom@acme.com>\nGesendet: Freitag\n\n${quoted}`,
    `Yes please!\n\nAm 20.11.2026 um 09:00 schrieb Tom:\n${quoted}`,
    `Yes please!\n\nDen fre 20 nov. 2026 kl 09:00 skrev Tom <tom@acme.com>:\n${quoted}`,
    `Yes please!\n\nLe ven. 20 nov. 2026 à 09:00, Tom <tom@acme.com> a écrit :\n${quoted}`,
    `Yes please!\n\nEl vie, 20 nov 2026 a las 9:00, Tom (<tom@acme.com>) escribió:\n${quoted}`,
    `Yes please!\n\nFrom: Tom\nSent: Friday, 20 November 2026 9:00\nTo: Ann\n\n${quoted}`,
    `Yes please!\n\nVon: Tom\n<tom@acme.com>\nGesendet: Freitag\n\n${quoted}`,
    `Yes please!\n\n---- On Fri, 20 Nov 2026 09:00:00 +0100 tom@acme.com wrote ----\n\n${quoted}`,
    `Yes please!\n\nAm Freitag, 20. November 2026 um 09:00:00 MEZ hat Tom <tom@acme.com> Folgendes geschrieben:\n${quoted}`,
    `Yes please!\n\n-------- Originalnachricht --------\n${quoted}`,
    `Yes please!\n\n-------- Originalmeddelande --------\n${quoted}`,
    `Yes please!\n\n-----Message d’origine-----\n${quoted}`,
    `Yes please!\n\n20.11.2026, 09.00, "Tom" <tom@acme.com>:\n${quoted}`,
    `Yes please!\n\nNov 20, 2026, 09:00 by tom@acme.com:\n\n${quoted}`,
    `Yes please!\n\nIn data 20 novembre 2026 09:00:00 "Tom Longname Longer"\n<tom@acme.com> ha scritto:\n${quoted}`,
    `> ${quoted}\n\nYes please!`,
    `Yes please!\n\nSent from my iPhone\n-- \nnot interested in unsubscribe Ltd`,
  ]
  for (const text of texts) t.equal(ownText({ text, html: null }), 'Yes please!', text)
  const own =
    'From: here to there.\nCall me at 10:30 or write to ann@y.com.\nAm Montag habe ich Ihnen geschrieben.\nYes please!'
  t.equal(ownText({ text: own, html: null }), own)
  const html = `<p>Yes please!</p><div class="gmail_quote">On Friday<blockquote>${quoted}</blockquote></div>`
  t.equal(ownText({ text: null, html }), 'Yes please!')
  const entities = '<p>Non, &ccedil;a ne m&rsquo;int&eacute;resse&nbsp;pas &#128512; &amp;lt; &lt;3</p>'
  t.equal(ownText({ text: null, html: entities }), "Non, ça ne m'intéresse pas 😀 &lt; <3")
})

t.test('automatic replies are not categorized', async t => {
  const automatic: [headers: Record<string, string>, subject?: string, mail_from?: string][] = [
    [{ 'auto-submitted': 'auto-replied' }],
    [{ 'auto-submitted': 'auto-generated; type=vacation' }],
    [{ 'x-autoreply': 'yes' }],
    [{ 'x-autorespond': 'x' }],
    [{ precedence: 'auto_reply' }],
    [{ precedence: 'bulk' }],
    [{ precedence: 'junk' }],
    [{ precedence: 'list' }],
    [{ 'list-id': '<l.y.com>' }],
    [{}, 'Re: Hello', ''],
    [{}, 'Re: Hello', 'MAILER-DAEMON@y.com'],
    [{ from: 'No Reply <no-reply@y.com>' }],
    [{ 'x-auto-response-suppress': 'All' }, 'Automatic reply: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Automatische Antwort: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Autosvar: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Réponse automatique : Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Respuesta automática: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Resposta automática: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Risposta automatica: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Automatisch antwoord: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Automatyczna odpowiedź: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Automaattinen vastaus: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, 'Автоматический ответ: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, '自動応答: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, '不在通知: Hello'],
    [{ 'x-auto-response-suppress': 'All' }, '自动答复: Hello'],
    [{}, 'AUTO: Ann Smith is out of the office (returning 01.12.2026)'],
    [{}, 'AUTO: Anna Müller ist abwesend (Rückkehr am 01.12.2026)'],
  ]
  for (const [headers, subject = 'Re: Hello', mail_from = 'ann@y.com'] of automatic) {
    t.equal(isAutomatic(headers, subject, mail_from), true, JSON.stringify([headers, subject, mail_from]))
  }
  t.equal(isAutomatic({ 'auto-submitted': 'no' }, 'Re: Hello', 'ann@y.com'), false)
  t.equal(isAutomatic({ 'feedback-id': '1.eu-west-1.x:AmazonSES' }, 'Re: Hello', 'ann@y.com'), false, 'sent by SES')
  t.equal(isAutomatic({}, 'Re: AUTO: Ann is out of the office', 'ann@y.com'), false)
  t.equal(isAutomatic({}, 'Auto: returning the red one', 'ann@y.com'), false)
  t.equal(isAutomatic({ from: 'Ann <ann@y.com>' }, 'Out of office on Friday?', 'ann@y.com'), false)
  t.equal(isAutomatic({ 'x-auto-response-suppress': 'DR' }, 'Re: Hello', 'ann@y.com'), false)
})

type Headers = Readonly<Record<string, string>>

/**
 * Tells whether a program wrote a message automatically, such as an absence note, a bounce, list mail or a ticket (RFC 3834 2 and
 * 5, and older conventions). Such a message is not a reply and must never be answered. `headers` by name in lower case.
 */
export function isAutomatic(headers: Headers, subject: string, mail_from: string): boolean {
  if (mail_from === '' || mail_from === '<>') return true
  const auto_submitted = headers['auto-submitted']
  if (auto_submitted !== undefined && !/^\s*no\b/i.test(auto_submitted)) return true
  if (SURE.some(name => headers[name] !== undefined)) return true
  if (/\b(?:auto[_-]?reply|bulk|junk|list)\b/i.test(headers.precedence ?? '')) return true
  if (SENDER.test(mail_from) || SENDER.test(headers.from ?? '')) return true
  if (/multipart\/report/i.test(headers['content-type'] ?? '')) return true
  return isAbsenceNote(headers, subject)
}

/** Detects a note that a program has sent for a person who is away. `headers` by name in lower case. */
export function isAbsenceNote(headers: Headers, subject: string): boolean {
  if (NOTES.test(subject)) return true
  // A subject alone proves nothing: people also write "out of office on Friday?".
  return SUBJECT.test(subject) && WEAK.some(name => headers[name] !== undefined)
}

const SURE = [
  ...['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-auto-reply-from', 'x-mail-autoreply', 'x-autoresponse'],
  ...['list-id', 'list-unsubscribe', 'x-loop', 'x-failed-recipients', 'x-ms-exchange-generated-message-source'],
]

/** Headers that some servers add to ordinary mail too. */
const WEAK = [
  ...[
    'x-auto-response-suppress',
    'x-precedence',
    'x-vacation',
    'delivered-to-autoresponder',
    'x-ms-exchange-inbox-rules-loop',
  ],
  ...['x-mailer-autoreply', 'x-rule-action'],
]

const SENDER = /(?:^|<)(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|auto-?(?:reply|responder|confirm))@/i

/** Lotus Notes, which shows it nowhere else. */
const NOTES = /^AUTO: .{1,200}(?:is out of the office|\(returning|ist abwesend|est absent|不在)/

const OUT =
  /out of (?:the )?office|abwesen|frånvaro|ej på plats|absence|absent|fuera de (?:la )?oficina|ausen|afwezig|fuori (?:sede|ufficio)|assente|nieobecn|poza biurem|fravær|ikke til stede|poissa|vacation|on holiday|urlaub|semester|вне офиса|нет на месте|不在|外出/

const AUTOMATIC =
  /automatic(?:ally)? (?:reply|response)|auto[- ]?(?:reply|response)|automatische antwort|autoantwort|automatiskt? svar|autosvar|réponse automatique|respuesta automática|resposta automática|risposta automatica|automatisch antwoord|automatyczna odpowiedź|automaattinen vastaus|автоматический ответ|автоответ|自動(?:応答|返信)|自动(?:答复|回复)|自動回覆|자동 회신/

const SUBJECT = new RegExp(`^(?:(?:re|aw|sv|tr|rv)\\s*[:：]\\s*)*(?:${OUT.source}|${AUTOMATIC.source})`, 'iu')

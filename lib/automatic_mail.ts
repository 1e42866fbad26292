type Headers = Readonly<Record<string, string>>

/**
 * Whether a program wrote it by itself: an absence note, a bounce, a list, a ticket (RFC 3834 2 and 5, and what was in use
 * before). It is no reply, and nothing is ever to answer it. `headers` by name in lower case.
 */
export function isAutomatic(headers: Headers, subject: string, mail_from: string): boolean {
  if (mail_from === '' || mail_from === '<>') return true
  const auto_submitted = headers['auto-submitted']
  if (auto_submitted !== undefined && !/^\s*no\b/i.test(auto_submitted)) return true
  if (SURE.some(name => headers[name] !== undefined)) return true
  if (/\b(?:auto[_-]?reply|bulk|junk|list)\b/i.test(headers.precedence ?? '')) return true
  if (SENDER.test(mail_from) || SENDER.test(headers.from ?? '')) return true
  if (/multipart\/report/i.test(headers['content-type'] ?? '')) return true
  // A subject alone proves nothing: people write "out of office on Friday?" too.
  return SUBJECT.test(subject) && WEAK.some(name => headers[name] !== undefined)
}

const SURE = [
  ...['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-auto-reply-from', 'x-mail-autoreply', 'x-autoresponse'],
  ...[
    'list-id',
    'list-unsubscribe',
    'feedback-id',
    'x-loop',
    'x-failed-recipients',
    'x-ms-exchange-generated-message-source',
  ],
]

/** Ordinary mail has these as well, of some servers. */
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

const SUBJECT =
  /^(?:(?:re|aw|sv|tr|rv)\s*:\s*)*(?:out of (?:the )?office|automatic(?:ally)? (?:reply|response)|auto[- ]?(?:reply|response)|automatische antwort|autoantwort|abwesen|automatiskt? svar|autosvar|frånvaro|ej på plats|réponse automatique|absence|absent|respuesta automática|fuera de (?:la )?oficina|ausen|vacation|on holiday|urlaub|semester)/i

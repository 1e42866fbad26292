import type { Rule } from './rule.ts'

/** No mail can reach the recipient, in unambiguous words that count with any code, even one of policy (5.7.1). */
export const RECIPIENTS: Rule[] = [
  {
    class: 'recipient',
    words: /\bno such (?:local )?(?:user|recipient|mailbox|address|account|person)/i,
    reply: '550 5.7.1 No such user',
  },
  {
    class: 'recipient',
    words:
      /\b(?:unknown|invalid|non-?existent|not a valid|no valid|illegal) (?:local |final |delivery )*(?:user|recipient|mailbox|addressee|userid)/i,
    reply: '553 5.7.1 Invalid recipient ann@acme.com (Mode: normal)',
  },
  {
    class: 'recipient',
    words:
      /(?<!\b(?:ip|your) )\b(?:user|recipient|mailbox|account|addressee|(?:e-?mail|recipient) address)s?\b(?:(?!\b(?:sender|from|policy)\b).){0,60}?\b(?:unknown|(?:not|n't) (?:found|exist|be found)|not (?:known|listed)|no longer (?:exist|valid|active|available|in use))/i,
    reply: '550 5.7.1 550 User Unknown: ann@acme.com',
  },
  {
    class: 'recipient',
    words:
      /(?<!\b(?:sender|your) )\b(?:user|mailbox|account|recipient)\b(?: \S+){0,4}? (?:disabled|deactivated|discontinued|terminated|closed|expired|frozen|is (?:locked|blocked|suspended|inactive))|\bdisabled (?:recipient|user|account)/i,
    reply: '525 5.7.13 <ann@acme.com>: Recipient address rejected: User account disabled.',
  },
  {
    class: 'recipient',
    words: /(?<!\b(?:sender|your|ip) )\baddress (?:could ?n.t|could not|can.t|can ?not) be found/i,
    reply: "550 Your message wasn't delivered to ann@acme.com because the address couldn't be found.",
  },
  {
    class: 'recipient',
    words:
      /\b(?:benutzer|empf\S{1,3}nger|postfach)\b.{0,40}(?:unbekannt|existiert nicht|nicht (?:gefunden|bekannt|vorhanden))|\b(?:utilisateur|destinataire|bo\S{1,3}te)\b.{0,30}(?:inconnu|inexistant|n.existe pas)|\b(?:usuario|destinatario|buz\S{1,2}n|utente|casella|usu\S{1,2}rio)\b.{0,30}(?:descon[oh]\w*cid|inexistente|no existe|no encontrad|sconosciut|inesistente|non (?:esiste|trovat)|n\S{1,2}o existe)/i,
    reply: '550 Empfänger unbekannt',
  },
  {
    class: 'recipient',
    words:
      /(?:用[户戶]|收[件信][人者]|(?<![发發寄][件信][人者]的?)(?:地址|[邮郵信]箱)|[帐账帳][户戶号號]|使用者|宛先|ユーザー?|アドレス|アカウント).{0,12}(?:不存在|不明|找不到|存在しません|見つかりません)|(?:不存在的|[无無没沒][此有]此?|查[无無]此)(?:用[户戶]|收件[人者]|[邮郵信]箱|[帐账帳][户戶号號]|使用者)/,
    reply: '550 用户不存在',
  },
  {
    class: 'recipient',
    words:
      /(?:пользовател|получател|адресат|ящик|адрес)(?:(?!отправител).){0,40}(?:не (?:найден|существует|зарегистрирован)|неизвест)|(?:нет такого|несуществующ\S{1,4}|неизвестн\S{1,4}) (?:пользовател|получател|адрес|(?:почтов\S{1,4} )?ящик)/i,
    reply: '550 Пользователь не найден',
  },
  {
    class: 'recipient',
    words: /doesn'?t have an? .{0,40}\baccount|no mailbox (?:here|by that name)/i,
    reply: '550 sorry, no mailbox here by that name. (#5.7.17)',
  },
  {
    class: 'recipient',
    words:
      /(?:mail)?(?:box|folder)\b.{0,40}\b(?:full|over ?quota)|recipient over ?quota|too many messages in (?:the |this )?(?:mail|in)?box/i,
    reply: "550 The e-mail message could not be delivered because the user's mailfolder is full.",
  },
  {
    class: 'recipient',
    words:
      /null ?mx|no smtp service|(?:host|domain|server|system)\b.{0,30}\b(?:not|n't) accept(?:ing)? (?:any )?(?:e-?mail|messages)/i,
    reply: '550 5.7.1 an MX or SRV record indicated no SMTP service',
  },
  {
    class: 'recipient',
    words:
      /\bhost unknown|unknown (?:host|domain)|unrouteable|no mx (?:record )?(?:was )?found|find (?:a|any) (?:mail exchanger|mx)/i,
    reply: "550 5.4.4 Sorry, I couldn't find a mail exchanger or IP address. (#5.4.4)",
  },
  {
    class: 'recipient',
    words:
      /(?:host|domain)(?: or domain)?(?:\/domain)?(?: name)?\b.{0,50}\b(?:not found|(?:not|n't) exist|found illegal)|domain is not reachable|illegal host|lookup failure: host|no such (?:host|domain)/i,
    reply: '550 5.4.4 Host or domain name not found. Name service error for name=acme.com type=MX: Host not found',
  },
  {
    class: 'recipient',
    words: /recipient address rejected/i,
    status: /^4\.1$/,
    reply: '550 5.4.1 Recipient address rejected: Access denied. [AM5EUR02FT012.eop-EUR02.prod.protection.outlook.com]',
  },
  {
    class: 'recipient',
    words: /\b(?:not|n't) accept/i,
    code: /^5(?:21|56)$/,
    reply: '521 5.3.2 <ann@acme.com>: Recipient address rejected: System not accepting network messages.',
  },
  { class: 'recipient', words: /invalid domain/i, status: /^4\.4$/, reply: '550 5.4.4 Invalid domain' },
]

import type { SMTPServerOptions } from 'smtp-server'

/** AUTH belongs to a trust between servers that nobody needs here (RFC 4954 section 5). */
const OF_MAIL = ['SIZE', 'BODY', 'SMTPUTF8', 'REQUIRETLS', 'AUTH', 'RET', 'ENVID']
const OF_RCPT = ['NOTIFY', 'ORCPT']

/** A path whose local part is a quoted string (RFC 5321 section 4.1.2), after a route if there is one. */
const QUOTED_PATH =
  /^([^:]{1,20}:\s*<(?:@[^\s":]+:)?)("(?:[ !#-[\]-~]|\\[ -~]|[^\p{ASCII}\p{Cc}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}])*")(@.*)$/su

/** Splits a MAIL or RCPT command around a quoted local part; null if it has none. */
export function splitQuotedPath(command: string): { begin: string; local: string; end: string } | null {
  const [, begin = '', local, end = ''] = QUOTED_PATH.exec(command) ?? []
  return local === undefined ? null : { begin, local, end }
}

/**
 * Returns the first parameter of MAIL or RCPT that must be refused, or null. Some libraries, such as PHPMailer, ask for delivery
 * reports (RFC 3461) although none are offered, so these parameters are ignored. `known` are those that smtp-server reads.
 */
export function findUnknownParameter(names: string[], known: string[], options: SMTPServerOptions): string | null {
  const accepted = known.includes('NOTIFY') ? OF_RCPT : OF_MAIL
  const found = names.find(name => !accepted.includes(name) || (name === 'REQUIRETLS' && options.hideREQUIRETLS))
  return found?.replace(/[^!-~]/g, '?').slice(0, 40) ?? null
}

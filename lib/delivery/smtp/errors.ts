import type { SmtpServer } from './server.ts'

/** An error of nodemailer: `code` is nodemailer's, `originalCode` is of Node or OpenSSL, `response` is the server's reply. */
export type ServerError = Error & {
  code?: string
  originalCode?: string
  response?: string
  responseCode?: number
  command?: string
}

/** A failure before the message: nothing was sent. */
export class SmtpConnectError extends Error {
  readonly reply: string | null
  /** It will fail until somebody changes our configuration or the server's. */
  readonly isConfiguration: boolean
  /** The server speaks SMTP, but TLS failed. */
  readonly isTls: boolean
  constructor(message: string, reply: string | null, kind: { isConfiguration: boolean; isTls: boolean }) {
    super(message)
    this.reply = reply
    this.isConfiguration = kind.isConfiguration
    this.isTls = kind.isTls
  }
}

/** Returns the reason why no connection was made, in words that may be shown. */
export function connectError(error: ServerError, server: SmtpServer, isTls: boolean): SmtpConnectError {
  const told = (text: string) => withoutPassword(text, server)
  return new SmtpConnectError(
    `No connection to ${server.label ?? `${server.host}:${server.port}`}: ${printable(told(error.message))}`,
    error.response === undefined ? null : told(error.response),
    { isConfiguration: isConfigurationError(error), isTls },
  )
}

/**
 * Tells whether credentials or TLS were refused permanently (5xx), or the certificate does not prove the host (OpenSSL's names).
 */
function isConfigurationError({ code, originalCode = '', responseCode = 0 }: ServerError): boolean {
  if (code === 'EAUTH' || code === 'ETLS') return responseCode >= 500
  return /CERT|SELF_SIGNED|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH/.test(originalCode)
}

/** Redacts the password: some servers repeat the command that they refuse, and senders are shown the reply. */
function withoutPassword(text: string, { auth }: SmtpServer): string {
  if (!auth?.pass) return text
  const { user, pass } = auth
  const forms = [pass, `\0${user}\0${pass}`].flatMap(form => [form, Buffer.from(form).toString('base64')])
  return forms.reduceRight((rest, form) => rest.replaceAll(form, '[redacted]'), text)
}

/** Makes an error printable for display and storage, since it may repeat any bytes of a server. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, '?').slice(0, 500)
}

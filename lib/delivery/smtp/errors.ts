import type { SmtpServer } from './server.ts'

/** As nodemailer tells it: `code` is its own, `originalCode` that of Node or OpenSSL, `response` what the server said. */
export type ServerError = Error & {
  code?: string
  originalCode?: string
  response?: string
  responseCode?: number
  command?: string
}

/** Before the message: the attempt failed without anything having been sent. */
export class SmtpConnectError extends Error {
  readonly reply: string | null
  /** It will fail again until somebody changes the configuration, ours or the server's. */
  readonly isConfiguration: boolean
  /** The server speaks SMTP, but TLS did not come about. */
  readonly isTls: boolean
  constructor(message: string, reply: string | null, kind: { isConfiguration: boolean; isTls: boolean }) {
    super(message)
    this.reply = reply
    this.isConfiguration = kind.isConfiguration
    this.isTls = kind.isTls
  }
}

/** What kept a connection from being opened, in words that may be shown. */
export function connectError(error: ServerError, server: SmtpServer, isTls: boolean): SmtpConnectError {
  const told = (text: string) => withoutPassword(text, server)
  return new SmtpConnectError(
    `No connection to ${server.label ?? `${server.host}:${server.port}`}: ${printable(told(error.message))}`,
    error.response === undefined ? null : told(error.response),
    { isConfiguration: isConfigurationError(error), isTls },
  )
}

/** Credentials or TLS refused for good (5xx), or a certificate that does not prove the host (OpenSSL's names). */
function isConfigurationError({ code, originalCode = '', responseCode = 0 }: ServerError): boolean {
  if (code === 'EAUTH' || code === 'ETLS') return responseCode >= 500
  return /CERT|SELF_SIGNED|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH/.test(originalCode)
}

/** Some servers repeat the command that they refuse, and what they say is shown to whoever sent the mail. */
function withoutPassword(text: string, { auth }: SmtpServer): string {
  if (!auth?.pass) return text
  const { user, pass } = auth
  const forms = [pass, `\0${user}\0${pass}`].flatMap(form => [form, Buffer.from(form).toString('base64')])
  return forms.reduceRight((rest, form) => rest.replaceAll(form, '[redacted]'), text)
}

/** As it can be shown and stored: an error may repeat whatever bytes a server sent. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, '?').slice(0, 500)
}

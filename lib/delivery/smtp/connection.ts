import type { Readable } from 'node:stream'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { formatReply } from '#lib/delivery/smtp_reply.ts'
import type { ServerError } from './errors.ts'
import type { SmtpServer } from './server.ts'

/** `verified`: the server's certificate proves its name. */
export type Protection = 'none' | 'encrypted' | 'verified'

/** Connects and authenticates. */
export async function connect(connection: SMTPConnection, { auth }: SmtpServer): Promise<void> {
  await promised(connection, done => connection.connect(done))
  if (auth) await promised(connection, done => connection.login({ credentials: auth }, done))
}

/** Resolves with the server's reply to the end of the message. */
export function sendMessage(
  connection: SMTPConnection,
  envelope: SMTPConnection.Envelope,
  content: Readable,
): Promise<string> {
  return new Promise((resolve, reject) => {
    connection.send(envelope, content, (error, info) => {
      if (error) reject(error)
      else resolve(formatReply((info as { response: string }).response))
    })
  })
}

/**
 * Returns the refusal of MAIL or RCPT in an envelope that was sent. nodemailer writes it there, but with PIPELINING reports it only
 * after the reply to DATA, which does not come if the server closes the connection.
 */
export function refusalOf(envelope: SMTPConnection.Envelope): ServerError | undefined {
  const { mailError, rejectedErrors } = envelope as { mailError?: ServerError; rejectedErrors?: ServerError[] }
  return mailError ?? rejectedErrors?.[0]
}

/**
 * Tells if the last reply, to DATA, was 354 (RFC 5321 4.3.2). Some servers reply twice to the end of a message; then each command of the
 * next one gets the reply to the command before it, and DATA a 250. A few servers always say 250 there, even for a first message.
 */
export function asksForContent({ lastServerResponse }: SMTPConnection): boolean {
  return String(lastServerResponse).startsWith('3')
}

/** Makes the connection ready for another message. */
export function reset(connection: SMTPConnection): Promise<void> {
  return promised(connection, done => connection.reset(done))
}

export function protectionOf(connection: SMTPConnection): Protection {
  const { secure, _socket } = connection as SMTPConnection & { _socket?: { authorized?: boolean } }
  if (!secure) return 'none'
  return _socket?.authorized ? 'verified' : 'encrypted'
}

/** Makes a promise of one call of the connection. Also rejects on an error event of the connection. */
function promised(connection: SMTPConnection, call: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.once('error', reject)
    call(error => {
      connection.removeListener('error', reject)
      if (error) reject(error)
      else resolve()
    })
  })
}

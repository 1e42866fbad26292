import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { printable } from '#lib/delivery/smtp/errors.ts'
import { connectionOptions, type SmtpServer, type SmtpTimeouts } from '#lib/delivery/smtp/server.ts'
import { SmtpSession } from '#lib/delivery/smtp/session.ts'
import { relayServer } from '#lib/delivery/smtp/transport.ts'
import { about, type Finding } from './finding.ts'

const TIMEOUTS: SmtpTimeouts = { connect: 5_000, message: 5_000, dot: 5_000 }

const CERTIFICATE =
  'Name the host that its certificate is for (?tls.servername=NAME), or accept any: ?tls.rejectUnauthorized=false'

/** Checks whether a relay responds, uses TLS and accepts our credentials. No mail is sent. */
export async function checkRelay(url: string, helo_name: string): Promise<Finding[]> {
  const server = relayServer(url, helo_name)
  const report = about(`relay ${server.host}:${server.port}`)
  try {
    const { secure, allowsAuth } = await probe(server)
    const told = [
      secure ? report.ok('It responds, with TLS.') : report.warning('It responds, without TLS.', requireTls(url)),
    ]
    if (!server.auth) return told
    if (!secure) {
      const finding = 'The password is sent in the clear: anybody on the way can read it and send in your name.'
      return [report.problem(finding, requireTls(url))]
    }
    if (!allowsAuth)
      return [...told, report.problem('It does not accept a password.', 'Remove user and password from its URL.')]
    const session = await SmtpSession.open(server, TIMEOUTS, AbortSignal.timeout(TIMEOUTS.connect))
    session.quit()
    return [...told, report.ok('It accepts the password.')]
  } catch (error) {
    const { message } = error as Error
    return [report.problem(message.replace(/\.?$/, '.'), /certificate/.test(message) ? CERTIFICATE : fixOf(server))]
  }
}

/** Suggests TLS. For submission with a password (RFC 8314) the port is usually 465, with TLS from the first byte. */
function requireTls(url: string): string {
  const wanted = new URL(url)
  wanted.searchParams.delete('ignoreTLS')
  wanted.searchParams.set('requireTLS', 'true')
  wanted.password &&= 'PASSWORD'
  return `${wanted.href}   (instead, once it offers STARTTLS), or smtps://...:465`
}

function fixOf({ host, port }: SmtpServer): string {
  return `Correct its URL; nc -v ${host} ${port} must show a greeting with 220.`
}

/** Connects without a password: greeting, EHLO, and STARTTLS if it is offered. */
function probe(server: SmtpServer): Promise<{ secure: boolean; allowsAuth: boolean }> {
  const connection = new SMTPConnection(connectionOptions(server, TIMEOUTS))
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      clearTimeout(timer)
      connection.close()
      act()
    }
    const fail = (error: Error) => settle(() => reject(new Error(printable(error.message))))
    const timer = setTimeout(() => fail(new Error(`No reply in ${TIMEOUTS.connect / 1000} s`)), TIMEOUTS.connect)
    connection.on('error', fail)
    connection.connect(() => {
      const { secure, allowsAuth } = connection as { secure: boolean; allowsAuth?: boolean }
      settle(() => resolve({ secure, allowsAuth: allowsAuth ?? false }))
    })
  })
}

import type { AddressInfo } from 'node:net'
import type { SMTPServerOptions } from 'smtp-server'
import type { Foundation } from '#flows/process/run_process.ts'
import type { Config } from '#lib/config.ts'
import { listen } from '#lib/net/listen.ts'
import { readCertificate, watchCertificate } from '#lib/receiving/smtp/certificate.ts'
import { SMTP_LIMITS, type SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { SmtpListener } from '#lib/receiving/smtp/listener.ts'

export type Listening = { port: number; stop(): Promise<void> }

type Callback = (error?: Error | null, message?: string) => void

/** Replies to a command once `act` has ended: with the message that it returns, or with `toReply` of its error. */
export function replyAfter(
  act: Promise<string | undefined>,
  callback: Callback,
  toReply: (error: unknown) => Error,
): void {
  act.then(
    message => callback(null, message),
    error => callback(toReply(error)),
  )
}

/** Commands that smtp-server would otherwise accept or reply to, to some of them with a joke. */
const DISABLED = ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']

/** Returns the limits of this process. Tests pass smaller ones. */
export function smtpLimits(config: Config, limits: Partial<SmtpLimits> = {}): SmtpLimits {
  return {
    ...SMTP_LIMITS,
    connections: config.SMTP_CONNECTIONS,
    connections_per_address: config.SMTP_CONNECTIONS_PER_ADDRESS,
    greeting_delay_ms: config.SMTP_GREETING_DELAY_MS,
    ...limits,
  }
}

type Place = { key: 'SMTP_PORT' | 'SUBMISSION_PORT'; port: number; limits: SmtpLimits }

/** Listens for SMTP, with STARTTLS if a certificate is configured. */
export async function listenForSmtp(
  { config, log }: Foundation,
  { key, port, limits }: Place,
  options: SMTPServerOptions,
): Promise<Listening> {
  const { SMTP_TLS_CERT, SMTP_TLS_KEY } = config
  const files = SMTP_TLS_CERT && SMTP_TLS_KEY ? { cert: SMTP_TLS_CERT, key: SMTP_TLS_KEY } : null
  const certificate = files && (await readCertificate(files))
  const listener = new SmtpListener({
    ...options,
    ...certificate,
    name: config.HELO_NAME,
    limits,
    // Without our own certificate, the library would offer one whose private key is public.
    disabledCommands: [...DISABLED, ...(options.disabledCommands ?? []), ...(certificate ? [] : ['STARTTLS'])],
  })
  const watch =
    files &&
    watchCertificate(
      files,
      renewed => listener.updateSecureContext(renewed),
      error => log.error({ err: error }, 'the changed certificate cannot be used; the previous one stays in use'),
    )
  await listen(listener, port, key)
  listener.removeAllListeners('error')
  listener.on('error', error => log.debug({ err: error }, 'a connection failed'))
  return {
    port: (listener.server.address() as AddressInfo).port,
    async stop() {
      watch?.stop()
      await listener.stop()
    },
  }
}

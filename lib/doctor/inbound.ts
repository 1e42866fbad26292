import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { now } from '#lib/clock.ts'
import type { Config } from '#lib/config.ts'
import { about, type Finding } from './finding.ts'
import { readGreeting } from './greeting.ts'

const DEADLINE_MS = 5_000
const DAY_MS = 86_400_000
/** Warns about a certificate this close to its end: automatic renewal would have renewed it by then. */
const SOON_MS = 14 * DAY_MS

const PORT = about('SMTP_PORT')
const CERTIFICATE = about('SMTP_TLS_CERT')

type Inbound = Pick<Config, 'SMTP_PORT' | 'SMTP_TLS_CERT'>

/** Checks whether this host accepts mail, and whether its certificate is valid. */
export async function checkInbound({ SMTP_PORT, SMTP_TLS_CERT }: Inbound): Promise<Finding[]> {
  return Promise.all([checkPort(SMTP_PORT), checkCertificate(SMTP_TLS_CERT)])
}

async function checkPort(port: number): Promise<Finding> {
  try {
    const line = await readGreeting('127.0.0.1', port, DEADLINE_MS)
    return line.startsWith('220')
      ? PORT.ok(`${port} greets with ${line}.`)
      : PORT.warning(`${port} responds with ${line}.`)
  } catch (error) {
    const finding = `No mail is received on port ${port} of this host (${(error as Error).message}).`
    return PORT.warning(finding, 'node workers/smtp.ts')
  }
}

async function checkCertificate(file: string | undefined): Promise<Finding> {
  if (!file) {
    const fix = 'SMTP_TLS_CERT=/etc/letsencrypt/live/mail.acme.com/fullchain.pem\nSMTP_TLS_KEY=.../privkey.pem'
    return CERTIFICATE.warning('There is none: mail arrives without TLS.', fix)
  }
  try {
    const { validTo } = new X509Certificate(await readFile(file))
    const left = Date.parse(validTo) - now().getTime()
    const fix = 'Renew it; a new file is read automatically.'
    if (left < 0) return CERTIFICATE.problem(`It has expired: ${validTo}.`, fix)
    if (left < SOON_MS) return CERTIFICATE.warning(`It expires soon: ${validTo}.`, fix)
    return CERTIFICATE.ok(`It is valid until ${validTo}.`)
  } catch (error) {
    return CERTIFICATE.problem(`${file} cannot be read: ${(error as Error).message}`)
  }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createBlobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { certificates } from '#test/support/tls/certificates.ts'
import { smtpLimits } from '#workers/smtp/listener.ts'
import { startSubmission } from '#workers/smtp/submission.ts'
import { connectClient, type SmtpClient } from './smtp_client.ts'

/** The settings of a process with SMTP submission. */
export async function submissionSettings(t: Pick<Test, 'teardown'>): Promise<Record<string, string>> {
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-submission-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const SMTP_TLS_CERT = join(directory, 'tls.crt')
  const SMTP_TLS_KEY = join(directory, 'tls.key')
  await writeFile(SMTP_TLS_CERT, certificates.one.cert)
  await writeFile(SMTP_TLS_KEY, certificates.one.key)
  return { SMTP_TLS_CERT, SMTP_TLS_KEY, SMTP_GREETING_DELAY_MS: '0' }
}

/** Starts a listener; returns its port. */
export async function listenForSubmission(t: Pick<Test, 'teardown'>, foundation: Foundation): Promise<number> {
  const blobs = createBlobs(foundation)
  const { port, stop } = await startSubmission(foundation, blobs, smtpLimits(foundation.config), 0)
  t.teardown(stop)
  return port
}

/** A client after STARTTLS and another EHLO. */
export async function openTls(t: Pick<Test, 'teardown'>, port: number): Promise<SmtpClient> {
  const client = await connectClient(t, port)
  await client.reply()
  await client.command('EHLO client.test')
  await client.command('STARTTLS')
  await client.upgrade()
  await client.command('EHLO client.test')
  return client
}

export async function logIn(t: Pick<Test, 'teardown'>, key: string, port: number): Promise<SmtpClient> {
  const client = await openTls(t, port)
  await client.command('AUTH LOGIN')
  await client.command(Buffer.from('user').toString('base64'))
  const reply = await client.command(Buffer.from(key).toString('base64'))
  if (!reply.startsWith('235 ')) throw new Error(`could not log in: ${reply}`)
  return client
}

/** The id of the accepted email, otherwise the reply. */
export function acceptedId(reply: string): string {
  return /^250 2\.0\.0 Accepted as (\S+)$/.exec(reply)?.[1] ?? reply
}

import type { Config } from '#lib/config.ts'
import { printable } from '#lib/delivery/smtp/errors.ts'
import { createS3Blobs } from '#lib/files/s3_blobs.ts'
import { newId } from '#lib/ids.ts'
import { fetchPolicy } from '#lib/net/fetch_safely.ts'
import { askCategory } from '#lib/receiving/replies/ask_category.ts'
import { checkVirus } from '#lib/receiving/verdicts/clamav.ts'
import { checkSpam } from '#lib/receiving/verdicts/rspamd.ts'
import { about, type Check, type Finding } from './finding.ts'

const DEADLINE_MS = 6_000

const MESSAGE = Buffer.from('From: doctor@example.com\r\nSubject: Hello\r\n\r\nIs anybody there?\r\n')
const REPLY = 'Thanks, please tell me more.'

/** Checks the configured services for stored files and received mail, each with a harmless request such as they get every day. */
export function serviceChecks(config: Config): Check[] {
  const { BLOB_STORE, RSPAMD_URL: rspamd, CLAMAV: clamd, AI_URL: ai, AI_MODEL: model } = config
  const checks: Check[] = []
  if (BLOB_STORE !== 'postgres') checks.push({ check: 'BLOB_STORE', run: () => checkBucket(BLOB_STORE) })
  if (rspamd) checks.push(checkService('RSPAMD_URL', 'judges messages', () => judgeSpam(config, rspamd)))
  if (clamd) {
    const scan = () => checkVirus(clamd, MESSAGE, { deadline_ms: DEADLINE_MS })
    checks.push(checkService('CLAMAV', 'scans messages', scan))
  }
  if (ai && model) {
    const ask = () => askCategory({ url: ai, key: config.AI_KEY, model }, fetchPolicy(config), REPLY)
    checks.push(checkService('AI_URL', 'sorts replies', ask))
  }
  return checks
}

/** A failure is only a warning: mail is received without the service. */
function checkService(variable: string, work: string, ask: () => Promise<unknown>): Check {
  const report = about(variable)
  const run = async () => {
    try {
      await ask()
      return [report.ok(`It responds and ${work}.`)]
    } catch (error) {
      return [report.warning(`It failed: ${reasonOf(error)}`, `Correct ${variable}, or start the service.`)]
    }
  }
  return { check: variable, run }
}

function judgeSpam({ DNS_SERVERS: dns_servers }: Config, url: string) {
  const envelope = { address: '127.0.0.1', name: 'localhost', helo: 'localhost', mail_from: '', rcpt_to: [] }
  return checkSpam(url, envelope, MESSAGE, { dns_servers, deadline_ms: DEADLINE_MS })
}

/**
 * Reads an object that does not exist. Servers respond with `NoSuchKey` if the key may also list the bucket, and else with
 * `AccessDenied`, as they do if it may do nothing.
 */
async function checkBucket(url: string): Promise<Finding[]> {
  const report = about('BLOB_STORE')
  const blobs = createS3Blobs(url)
  try {
    await Array.fromAsync(blobs.read(`doctor-${newId()}`))
    return [report.unknown('It returned an object that does not exist.')]
  } catch (error) {
    const { name } = ((error as Error).cause ?? error) as Error
    if (name === 'NoSuchKey') return [report.ok('The bucket responds and accepts the key.')]
    if (name === 'AccessDenied') {
      const finding = 'The bucket responds, but it does not say whether the key may read and write objects.'
      return [report.unknown(finding, 'Allow s3:ListBucket for the key, or send an email with an attachment.')]
    }
    return [report.problem(`Files cannot be read or stored: ${reasonOf(error)}`, 'Correct BLOB_STORE.')]
  } finally {
    blobs.close()
  }
}

function reasonOf(error: unknown): string {
  const inner = error instanceof AggregateError ? error.errors[0] : error
  return printable((inner as Error).message).replace(/\.?$/, '.')
}

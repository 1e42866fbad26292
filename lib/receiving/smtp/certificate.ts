import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { StartupError } from '#lib/errors.ts'

export type Certificate = { cert: Buffer; key: Buffer }
type Files = { cert: string; key: string }

/** A renewed certificate is noticed within this time. */
const INTERVAL_MS = 10_000

/** @throws {StartupError} if a file cannot be read, or the two do not match */
export async function readCertificate(files: Files): Promise<Certificate> {
  try {
    const certificate = { cert: await readFile(files.cert), key: await readFile(files.key) }
    createSecureContext(certificate)
    return certificate
  } catch (cause) {
    const what = `SMTP_TLS_CERT and SMTP_TLS_KEY (${files.cert}, ${files.key})`
    throw new StartupError(`${what} cannot be used: ${(cause as Error).message}`, { cause })
  }
}

/**
 * Calls `onChange` for each new certificate. While its files do not match, such as when only one of the two is written, the last
 * certificate remains in use.
 */
export function watchCertificate(
  files: Files,
  onChange: (certificate: Certificate) => void,
  onError: (error: unknown) => void,
  interval = INTERVAL_MS,
): { stop(): void } {
  const names = [files.cert, files.key]
  const read = () => {
    readCertificate(files).then(onChange).catch(onError)
  }
  for (const name of names) watchFile(name, { interval, persistent: false }, read)
  return {
    stop() {
      for (const name of names) unwatchFile(name, read)
    },
  }
}

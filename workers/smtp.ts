import { createBlobs } from '#flows/files/blobs.ts'
import { type Foundation, type Running, startOnFoundation, superviseProcess } from '#flows/process/run_process.ts'
import { startClockSync } from '#flows/process/sync_clock.ts'
import type { SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { startInbound } from '#workers/smtp/inbound.ts'
import { smtpLimits } from '#workers/smtp/listener.ts'
import { startSubmission } from '#workers/smtp/submission.ts'

/** Receives mail by SMTP. If a port for submission is configured, also accepts mail to send. */
export async function startSmtp(
  foundation: Foundation,
  limits: Partial<SmtpLimits> = {},
): Promise<Running & { port: number }> {
  const { config, log, pool } = foundation
  const blobs = createBlobs(foundation)
  const inbound = await startInbound(foundation, blobs, smtpLimits(config, limits))
  const submission = config.SUBMISSION_PORT
    ? await startSubmission(foundation, blobs, smtpLimits(config, limits)).catch(async error => {
        await inbound.stop()
        throw error
      })
    : null
  const clock = startClockSync(pool, log)
  log.info({ port: inbound.port, submission_port: submission?.port }, 'mail is received')
  return {
    port: inbound.port,
    async stop() {
      await Promise.all([inbound.stop(), submission?.stop()])
      clock.stop()
      blobs.close()
    },
  }
}

if (import.meta.main) await superviseProcess(() => startOnFoundation(startSmtp))

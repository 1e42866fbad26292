import { Breaker } from '#lib/async/circuit_breaker.ts'
import type { Config } from '#lib/config.ts'
import type { Log } from '#lib/log.ts'
import { authenticate } from '#lib/receiving/verdicts/authenticate.ts'
import type { Origin } from '#lib/receiving/verdicts/check_origin.ts'
import { checkVirus } from '#lib/receiving/verdicts/clamav.ts'
import { checkSpam } from '#lib/receiving/verdicts/rspamd.ts'
import type { Envelope, Verdict } from '#lib/receiving/verdicts/verdict.ts'
import type { EmailToParse, Judgement } from '#sql/receiving/emails_to_parse.ts'

export type JudgeTimes = { rspamd_ms: number; clamav_ms: number }
export type Judge = {
  config: Pick<Config, 'DNS_SERVERS' | 'RSPAMD_URL' | 'CLAMAV'>
  log: Log
  /** How long each service may take. */
  judge_times?: JudgeTimes
}

const JUDGE_TIMES: JudgeTimes = { rspamd_ms: 10_000, clamav_ms: 30_000 }

/**
 * Breakers per service, for services that hang: otherwise each message, and all messages behind it, would wait for the full
 * deadline.
 */
const breakers = new Map<string, Breaker>()

/**
 * Runs authentication, spam check and virus check of a message at the same time. A failing service does not stop mail
 * from being read. A service that hangs is only tried occasionally, and other mail is read without its verdict.
 */
export async function judgeMessage(
  { config, log, judge_times = JUDGE_TIMES }: Judge,
  email: EmailToParse,
  raw: Buffer,
): Promise<Judgement> {
  const { mail_from, received_for: rcpt_to, client } = email
  const { address, name, helo } = client
  const envelope: Envelope = { address, name, helo, mail_from, rcpt_to }
  const dns_servers = config.DNS_SERVERS
  const failed = (who: string) => (err: unknown) => {
    log.warn({ err, received_email_id: email.id }, `${who} could not judge a message`)
    return 'PROCESSING_FAILED' as const
  }
  const [origin, spam, virus] = await Promise.all([
    authenticate({ ...envelope, raw, dns_servers }).catch(error => unknownOrigin(failed('authentication')(error))),
    ask(config.RSPAMD_URL, judge_times.rspamd_ms, (url, deadline_ms) =>
      checkSpam(url, envelope, raw, { dns_servers, deadline_ms }),
    ).catch(failed('rspamd')),
    ask(config.CLAMAV, judge_times.clamav_ms, (clamd, deadline_ms) => checkVirus(clamd, raw, { deadline_ms })).catch(
      failed('ClamAV'),
    ),
  ])
  return { spf: origin.spf, verdicts: { ...origin.verdicts, spam, virus } }
}

async function ask<Where>(
  where: Where | undefined,
  deadline_ms: number,
  check: (where: Where, deadline_ms: number) => Promise<Verdict>,
): Promise<Verdict> {
  if (where === undefined) return 'DISABLED'
  const breaker = breakerOf(JSON.stringify(where))
  if (breaker.refuses()) return 'PROCESSING_FAILED'
  const start = performance.now()
  try {
    const verdict = await check(where, deadline_ms)
    breaker.succeeded()
    return verdict
  } catch (error) {
    // A service that fails quickly delays nothing, so the next message tries it again.
    if (performance.now() - start >= 0.9 * deadline_ms) breaker.failed(String(error))
    else breaker.abstained()
    throw error
  }
}

function breakerOf(service: string): Breaker {
  const breaker = breakers.get(service) ?? new Breaker()
  breakers.set(service, breaker)
  return breaker
}

function unknownOrigin(verdict: 'PROCESSING_FAILED'): Omit<Origin, 'arc'> {
  return { spf: 'temperror', verdicts: { spf: verdict, dkim: verdict, dmarc: verdict } }
}

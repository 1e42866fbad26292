import type { Config } from '../lib/config.ts'
import type { Log } from '../lib/log.ts'
import { authenticate } from '../lib/verdicts/authenticate.ts'
import type { Origin } from '../lib/verdicts/check_origin.ts'
import { checkVirus } from '../lib/verdicts/clamav.ts'
import { checkSpam } from '../lib/verdicts/rspamd.ts'
import type { Envelope, Verdict } from '../lib/verdicts/verdict.ts'
import type { EmailToParse, Judgement } from '../sql/emails_to_parse.ts'

export type Judge = { config: Pick<Config, 'DNS_SERVERS' | 'RSPAMD_URL' | 'CLAMAV'>; log: Log }

/** Asks everybody who has an opinion on a message, at the same time. Whoever is away keeps no mail from being read. */
export async function judgeMessage({ config, log }: Judge, email: EmailToParse, raw: Buffer): Promise<Judgement> {
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
    ask(config.RSPAMD_URL, url => checkSpam(url, envelope, raw, { dns_servers })).catch(failed('rspamd')),
    ask(config.CLAMAV, clamd => checkVirus(clamd, raw)).catch(failed('ClamAV')),
  ])
  return { spf: origin.spf, verdicts: { ...origin.verdicts, spam, virus } }
}

async function ask<Where>(where: Where | undefined, check: (where: Where) => Promise<Verdict>): Promise<Verdict> {
  return where === undefined ? 'DISABLED' : check(where)
}

function unknownOrigin(verdict: 'PROCESSING_FAILED'): Omit<Origin, 'arc'> {
  return { spf: 'temperror', verdicts: { spf: verdict, dkim: verdict, dmarc: verdict } }
}

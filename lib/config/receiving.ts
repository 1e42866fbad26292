import { z } from 'zod'
import { clamd, count, httpUrl, listenPort } from './values.ts'

/** The SMTP server, and who judges what it receives. */
export const receiving = {
  SMTP_PORT: listenPort.default(2525).describe('Port that mail is received on; forward 25 to it. 0: any that is free.'),
  SUBMISSION_PORT: listenPort
    .default(0)
    .describe('Port that mail to send is taken on by SMTP, with an API key as password. 0: none.'),
  OPERATOR_ACCOUNT: z
    .string()
    .min(1)
    .optional()
    .describe('Account, by name or id, that gets mail to `postmaster` without a domain. Default: the first one.'),
  SMTP_TLS_CERT: z
    .string()
    .optional()
    .describe(
      'File with the certificate for STARTTLS (PEM, with its chain), read again when it changes. Default: no TLS.',
    ),
  SMTP_TLS_KEY: z.string().optional().describe('File with its private key.'),
  SMTP_CONNECTIONS: count.min(1).max(10_000).default(200).describe('SMTP connections of one process at once.'),
  SMTP_CONNECTIONS_PER_ADDRESS: count
    .min(1)
    .max(10_000)
    .default(20)
    .describe('The same of one client address (an IPv6 /64 is one).'),
  SMTP_GREETING_DELAY_MS: count
    .max(30_000)
    .default(100)
    .describe('How long a client must wait for the greeting; one that talks before it is refused. 0: not at all.'),
  RSPAMD_URL: httpUrl
    .optional()
    .describe('rspamd that judges received mail: http://127.0.0.1:11333 (its normal worker). Default: nobody does.'),
  CLAMAV: clamd
    .optional()
    .describe(
      'ClamAV’s clamd that looks for viruses: unix:/run/clamav/clamd.ctl, or tcp:127.0.0.1:3310. Default: nobody does.',
    ),
  AI_URL: httpUrl
    .optional()
    .describe(
      'API that tells what replies mean, as OpenAI’s speaks: https://api.openai.com/v1 and so on. Default: none, phrases do.',
    ),
  AI_KEY: z.string().min(1).optional().describe('Key of it, sent as a bearer token.'),
  AI_MODEL: z.string().min(1).optional().describe('Model that is asked. Required with AI_URL.'),
}

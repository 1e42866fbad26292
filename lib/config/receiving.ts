import { z } from 'zod'
import { clamd, count, httpUrl, listenPort } from './values.ts'

/** The SMTP server. */
export const receiving = {
  SMTP_PORT: listenPort
    .default(2525)
    .describe(
      'Port on which mail is received. Other servers send to port 25, so forward port 25 to it. `0`: any free port.',
    ),
  SUBMISSION_PORT: listenPort
    .default(0)
    .describe(
      'Port for sending by SMTP with an API key as the password, usually `587`. `0`: none. Requires `SMTP_TLS_CERT`.',
    ),
  SMTP_TLS_CERT: z.string().optional().meta({
    description:
      'File with the certificate for STARTTLS (PEM, with its chain). It is read again when it changes. Requires `SMTP_TLS_KEY`.',
    unset: 'no TLS',
  }),
  SMTP_TLS_KEY: z.string().optional().meta({
    description: 'File with the private key of the certificate (PEM).',
    unset: 'none',
  }),
  SMTP_CONNECTIONS: count
    .min(1)
    .max(10_000)
    .default(200)
    .describe('SMTP connections that one process accepts at the same time.'),
  SMTP_CONNECTIONS_PER_ADDRESS: count
    .min(1)
    .max(10_000)
    .default(20)
    .describe('SMTP connections from one client address at the same time. An IPv6 /64 counts as one address.'),
  SMTP_GREETING_DELAY_MS: count
    .max(30_000)
    .default(100)
    .describe(
      'Delay of the SMTP greeting in milliseconds. Clients that talk before it are rejected; many spammers do. `0`: no delay.',
    ),
  OPERATOR_ACCOUNT: z.string().min(1).optional().meta({
    description: 'Name or id of the account that receives mail to `postmaster` without a domain.',
    unset: 'the first account',
  }),
}

/** Services that check received mail. */
export const verdicts = {
  RSPAMD_URL: httpUrl.optional().meta({
    description:
      'URL of an rspamd (its normal worker) that checks received mail for spam, such as `http://127.0.0.1:11333`.',
    unset: 'no spam check',
  }),
  CLAMAV: clamd.optional().meta({
    description:
      'Address of a clamd that scans received mail for viruses: `unix:/run/clamav/clamd.ctl` or `tcp:127.0.0.1:3310`.',
    unset: 'no virus check',
  }),
  AI_URL: httpUrl.optional().meta({
    description:
      'Base URL of an OpenAI-compatible API that sorts replies into interested, neutral and not interested, such as `https://api.openai.com/v1`.',
    unset: 'replies are sorted by phrases',
  }),
  AI_KEY: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Key for `AI_URL`, sent as a bearer token.', unset: 'none' }),
  AI_MODEL: z.string().min(1).optional().meta({
    description: 'Model to use at `AI_URL`. Required with `AI_URL`.',
    unset: 'none',
  }),
}

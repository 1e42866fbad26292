import type { ReceivedEmail } from '#sql/receiving/received_email_list.ts'
import { type Html, html } from '#web/html.ts'
import { table } from '#web/layout/list.ts'
import { badge, section } from '#web/layout/parts.ts'
import type { Wire } from '#web/request/wire.ts'

type Verdicts = ReceivedEmail['verdicts']

const NAMES: Record<string, string> = { spf: 'SPF', dkim: 'DKIM', dmarc: 'DMARC', spam: 'Spam', virus: 'Virus' }

/** The meaning of the results PASS, FAIL and GRAY. */
const MEANINGS: Record<string, [pass: string, fail: string, gray: string]> = {
  spf: [
    'The domain of the envelope sender allows the IP address that sent the message.',
    'The domain of the envelope sender does not allow the IP address that sent the message.',
    'The domain of the envelope sender says nothing definite about the IP address that sent the message.',
  ],
  dkim: [
    'A signature is valid: the message has not changed since it was signed.',
    'No signature is valid: the message was changed, or its key is wrong.',
    'The message has no signature, or only some are valid.',
  ],
  dmarc: [
    'The message is authenticated by the domain in From.',
    'The message is not authenticated by the domain in From.',
    'The domain in From has no policy for unauthenticated messages.',
  ],
  spam: ['Not classified as spam.', 'Classified as spam.', 'The spam filter is not sure.'],
  virus: ['No virus found.', 'Virus found.', 'The virus scanner is not sure.'],
}

const OTHER_MEANINGS: Record<string, string> = {
  PROCESSING_FAILED: 'The check could not run when the message arrived.',
  DISABLED: 'This check is not configured on this server.',
}

/** Badges for lists: the failed checks, or a verified sender. */
export function failedChecks(verdicts: Verdicts): Html {
  const failed = Object.entries(verdicts ?? {}).filter(([, verdict]) => verdict === 'FAIL')
  if (failed.length > 0)
    return html`${failed.map(([name]) => html`${badge('fail', `${NAMES[name] ?? name} failed`)} `)}`
  return verdicts?.dmarc === 'PASS' ? badge('pass', 'sender verified') : html``
}

/** The checks of an email with their results and reasons. */
export function checksTable({ verdicts, spf, parse_error }: Wire<ReceivedEmail>): Html {
  const rows = Object.entries(verdicts ?? {})
  return section(
    'Checks',
    html`${table({
      ...{ caption: 'Results of the checks', rows, empty: html`<p>No checks were made.</p>` },
      columns: [
        { title: 'Check', cell: ([name]: [string, string]) => NAMES[name] ?? name },
        { title: 'Result', cell: ([, verdict]: [string, string]) => badge(verdict.toLowerCase()) },
        {
          title: 'Reason',
          cell: ([name, verdict]: [string, string]) =>
            `${meaningOf(name, verdict)}${name === 'spf' && spf ? ` (${spf})` : ''}`,
        },
      ],
    })}
${parse_error ? html`<p>A part of the message could not be read: ${parse_error}</p>` : ''}`,
  )
}

function meaningOf(name: string, verdict: string): string {
  return OTHER_MEANINGS[verdict] ?? MEANINGS[name]?.[['PASS', 'FAIL', 'GRAY'].indexOf(verdict)] ?? ''
}

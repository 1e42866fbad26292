import type { ReceivedEmail } from '#sql/receiving/received_email_list.ts'
import { type Html, html } from '#web/html.ts'
import { table } from '#web/layout/list.ts'
import { badge, section } from '#web/layout/parts.ts'
import type { Wire } from '#web/request/wire.ts'

type Verdicts = ReceivedEmail['verdicts']

const NAMES: Record<string, string> = { spf: 'SPF', dkim: 'DKIM', dmarc: 'DMARC', spam: 'Spam', virus: 'Virus' }

/** The meaning of each result, in the order PASS, FAIL, GRAY. */
const MEANINGS: Record<string, [pass: string, fail: string, gray: string]> = {
  spf: [
    'The domain of the envelope sender names the address that the message came from.',
    'The domain of the envelope sender does not let that address send.',
    'The domain of the envelope sender says nothing certain about that address.',
  ],
  dkim: [
    'A signature is valid: nobody has changed the message since it was signed.',
    'No signature is valid: the message was changed, or its key is wrong.',
    'The message has no signature, or only some are valid.',
  ],
  dmarc: [
    'The domain in From has sent the message.',
    'Nothing proves that the domain in From has sent the message.',
    'The domain in From has no policy about mail that it has not sent.',
  ],
  spam: ['The filter takes it for wanted.', 'The filter takes it for spam.', 'The filter is not sure.'],
  virus: ['The scanner found nothing.', 'The scanner found a virus.', 'The scanner is not sure.'],
}

const OTHERS: Record<string, string> = {
  PROCESSING_FAILED: 'The check could not be made at that time.',
  DISABLED: 'This server has no such filter. See the configuration.',
}

/** Badges of the checks that an email did not pass, for lists. */
export function failedChecks(verdicts: Verdicts): Html {
  const failed = Object.entries(verdicts ?? {}).filter(([, verdict]) => verdict === 'FAIL')
  if (failed.length > 0)
    return html`${failed.map(([name]) => html`${badge('fail', `${NAMES[name] ?? name} failed`)} `)}`
  return verdicts?.dmarc === 'PASS' ? badge('pass', 'sender proved') : html``
}

/** The checks of an email with their reasons. */
export function checks({ verdicts, spf, parse_error }: Wire<ReceivedEmail>): Html {
  const rows = Object.entries(verdicts ?? {})
  return section(
    'Checks',
    html`${table({
      ...{ caption: 'Results of the checks', rows, empty: html`<p>It was not checked.</p>` },
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
  return OTHERS[verdict] ?? MEANINGS[name]?.[['PASS', 'FAIL', 'GRAY'].indexOf(verdict)] ?? ''
}

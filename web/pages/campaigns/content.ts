import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type Html, html } from '#web/html.ts'
import { facts, part, section, unicodeDomain } from '#web/layout/parts.ts'
import { contentFrame } from '#web/pages/mail/content_preview.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

/** The content of a campaign that is no draft, as it was sent or will be: of each variant of its A/B test, if it has one. */
export function contentOf({ session }: Visit, { id, preview_text, ab_test }: Wire<Campaign>): Html {
  const path = `/campaigns/${id}`
  const shown = ab_test
    ? ab_test.variants.map(({ key, from, subject, ...own }, n) =>
        part(
          `Variant ${key}`,
          n === 0,
          html`${facts([
            ['From', from && unicodeDomain(from)],
            ['Subject', subject],
            ['Preview text', own.preview_text ?? preview_text],
          ])}
${framesOf(path, ` of variant ${key}`, { variant: key })}`,
        ),
      )
    : html`${facts([['Preview text', preview_text]])}${framesOf(path, '', {})}`
  return section(
    'Content',
    html`<p>Shown with the values of the contact ${session.email}, if there is one.</p>${shown}`,
  )
}

function framesOf(path: string, whose: string, query: Record<string, string>): Html {
  return html`${contentFrame(path, `Content${whose}`, query)}
${part('Text', false, contentFrame(path, `Plain text${whose}`, { ...query, part: 'text' }))}`
}

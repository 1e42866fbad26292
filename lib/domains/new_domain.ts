import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { asciiDomain } from '#lib/mail/address.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'
import { clip, Fixed, LINE } from '#lib/zod_fields.ts'
import { BrandChange } from './brand.ts'
import { type RecordedDomain, TRACKING_SUBDOMAIN } from './domain_records.ts'

const Capability = z.enum(['enabled', 'disabled'])

/** One or more labels (RFC 1123 section 2.1), in lower case. */
const Subdomain = z
  .string()
  .toLowerCase()
  .max(100)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/,
    'must be a host name label such as `send`, or several joined by dots',
  )

const changeable = {
  custom_return_path: Subdomain.optional().describe('Subdomain of the return path. Default of a new domain: `send`.'),
  capabilities: z
    .object({
      sending: Capability.optional().describe('Send mail from it. Default of a new domain: `enabled`.'),
      receiving: Capability.optional().describe('Receive mail at it. Default of a new domain: `disabled`.'),
    })
    .optional()
    .describe('Use of the domain. At least one must be enabled.'),
  open_tracking: z
    .boolean()
    .optional()
    .describe('Count opens of its emails, unless an email has its own setting. Default of a new domain: `false`.'),
  click_tracking: z.boolean().optional().describe('The same, for clicks on links.'),
  tls: z
    .enum(['opportunistic', 'enforced'])
    .optional()
    .describe('`enforced`: mail of this domain is never sent without TLS. Default of a new domain: `opportunistic`.'),
  tracking_subdomain: Subdomain.nullish().describe(
    'Subdomain of the Tracking record. Default of a new domain, and with null: `track`.',
  ),
}

/** A domain to add. */
export const DomainFields = z.object({
  name: z.string().describe('The domain, such as `news.acme.com`.'),
  region: z
    .enum(['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1'])
    .optional()
    .describe('Stored and returned, without effect. Default: `us-east-1`.'),
  ...changeable,
})
export const NewDomain = withTwins(DomainFields).meta({ id: 'NewDomain' })
export type NewDomain = z.infer<typeof NewDomain>

/** In characters. */
const MAX_ADDRESS = 500

/** Null and the empty string clear it. */
export const PostalAddress = z
  .string()
  .max(MAX_ADDRESS)
  .regex(LINE, 'must be one line')
  .nullish()
  .transform(text => (text?.trim() === '' ? null : text))

const postal_address = PostalAddress.describe(
  'Postal address of the sender, in the footer of campaigns: one line of up to 500 characters. Null: that of the account.',
)

const brand = BrandChange.nullish().describe('Look of the pages on which recipients unsubscribe. Null: the default.')

/** The body that changes a domain. Fields that are left out stay as they are. */
export const DomainChange = withTwins(
  z.object({ name: Fixed, region: Fixed, ...changeable, brand, postal_address }),
).meta({
  id: 'DomainChange',
})
export type DomainChange = z.infer<typeof DomainChange>

/** In characters, without the trailing dot (RFC 1035 section 2.3.4). */
const MAX_NAME = 253

/** The longest name of a DKIM record that can occur, before the name of the domain. */
const LONGEST_DKIM_LABELS = 'mb99999e._domainkey'

/** Returns a name in the form in which domains are stored, or a sentence that says why it cannot be a domain of an account. */
export function readDomainName(text: string): { name: string } | { why: string } {
  const name = asciiDomain(text)
  if (!name || name.length > MAX_NAME) return { why: `${clip(text)} is not a domain name.` }
  if (registrableDomain(name) === null) return { why: `${clip(name)} is a public suffix: add a domain below it.` }
  return { name }
}

export type Settings = Omit<RecordedDomain, 'name'>

/** Returns why these settings are invalid, or null. */
export function findSettingsFault(name: string, { capabilities, ...settings }: Settings): string | null {
  const { custom_return_path } = settings
  const tracking = settings.tracking_subdomain ?? TRACKING_SUBDOMAIN
  if (capabilities.sending === 'disabled' && capabilities.receiving === 'disabled') {
    return '`capabilities` must have at least one that is `enabled`.'
  }
  if (tracking === custom_return_path) {
    return `\`tracking_subdomain\` must not be the same as \`custom_return_path\` (${tracking}): a name with a CNAME record has no other records.`
  }
  const tooLong = [custom_return_path, tracking, LONGEST_DKIM_LABELS].find(
    labels => labels.length + 1 + name.length > MAX_NAME,
  )
  return tooLong ? `The domain is too long: with ${tooLong}. in front, it has more than ${MAX_NAME} characters.` : null
}

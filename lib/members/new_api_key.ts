import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { moment, TEXT_LINE } from '#lib/zod_fields.ts'

const name = z.string().trim().min(1).max(100).regex(TEXT_LINE, 'must be one line of text').describe('Name for people.')
const permission = z
  .enum(['full_access', 'sending_access'])
  .describe('`full_access`: everything except managing keys and members. `sending_access`: only sending.')
const domain_id = z
  .guid()
  .nullable()
  .describe('Id of the domain that a key of `sending_access` is limited to; null: all domains.')
const default_domain_id = z
  .guid()
  .nullable()
  .describe('Id of the default domain of requests that need a domain and name none; null: none.')
const expires_at = moment.nullable().describe('When the key expires; null: never.')

export const NewApiKey = withTwins(
  z.object({
    name,
    permission: permission.default('full_access'),
    domain_id: domain_id.default(null),
    default_domain_id: default_domain_id.default(null),
    expires_at: expires_at.default(null),
  }),
).meta({ id: 'NewApiKey' })
export type NewApiKey = z.output<typeof NewApiKey>

export const ApiKeyChange = withTwins(
  z.object({ name, permission, domain_id, default_domain_id, expires_at }).partial(),
).meta({ id: 'ApiKeyChange' })
export type ApiKeyChange = z.output<typeof ApiKeyChange>

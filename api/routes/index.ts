import type { Operation } from '#api/operations/operation.ts'
import { apiKeys } from './api_keys.ts'
import { domainClaims } from './domain_claims.ts'
import { domainDns } from './domain_dns.ts'
import { domainProviders } from './domain_providers.ts'
import { domains } from './domains.ts'
import { emailAttachments } from './email_attachments.ts'
import { emailBatch } from './email_batch.ts'
import { emails } from './emails.ts'
import { logs } from './logs.ts'
import { receivedAttachments } from './received_attachments.ts'
import { receivedEmails } from './received_emails.ts'
import { receivedReplies } from './received_replies.ts'
import { suppressions } from './suppressions.ts'
import { templates } from './templates.ts'
import { usage } from './usage.ts'
import { webhookEvents } from './webhook_events.ts'
import { webhooks } from './webhooks.ts'

/** All operations of the API, by the headings of its documentation. */
const resources: Record<string, Operation[]> = {
  Emails: [...emails, ...emailBatch, ...emailAttachments],
  'Received emails': [...receivedEmails, ...receivedAttachments, ...receivedReplies],
  Domains: [...domains, ...domainClaims, ...domainDns, ...domainProviders],
  Suppressions: suppressions,
  Templates: templates,
  Webhooks: [...webhooks, ...webhookEvents],
  Logs: logs,
  Usage: usage,
  'API keys': apiKeys,
}

export const operations: Operation[] = Object.values(resources).flat()

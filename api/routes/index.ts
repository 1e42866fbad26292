import type { Operation } from '#api/operations/operation.ts'
import { apiKeys } from './api_keys.ts'
import { audiences } from './audiences.ts'
import { automations } from './automations/automations.ts'
import { automationRuns } from './automations/runs.ts'
import { automationSteps } from './automations/steps.ts'
import { campaignAb } from './campaigns/ab.ts'
import { campaignActions } from './campaigns/actions.ts'
import { campaigns } from './campaigns/campaigns.ts'
import { campaignDoubts } from './campaigns/in_doubt.ts'
import { campaignReports } from './campaigns/reports.ts'
import { audienceContacts } from './contacts/audience_contacts.ts'
import { contactBatches } from './contacts/batches.ts'
import { contacts } from './contacts/contacts.ts'
import { contactImports } from './contacts/imports.ts'
import { contactProperties } from './contacts/properties.ts'
import { contactSegments } from './contacts/segments.ts'
import { contactTopics } from './contacts/topics.ts'
import { domainClaims } from './domains/claims.ts'
import { domainDns } from './domains/dns.ts'
import { domains } from './domains/domains.ts'
import { domainProviders } from './domains/providers.ts'
import { emailAttachments } from './emails/attachments.ts'
import { emailBatch } from './emails/batch.ts'
import { emails } from './emails/emails.ts'
import { emailMetrics } from './emails/metrics.ts'
import { events } from './events/events.ts'
import { sentEvents } from './events/sent_events.ts'
import { contactExports, suppressionExports } from './exports.ts'
import { logs } from './logs.ts'
import { members } from './members.ts'
import { polls } from './polls.ts'
import { receivedAttachments } from './receiving/attachments.ts'
import { receivedEmails } from './receiving/received_emails.ts'
import { receivedReplies } from './receiving/replies.ts'
import { segments } from './segments.ts'
import { suppressionBatches } from './suppressions/batches.ts'
import { suppressions } from './suppressions/suppressions.ts'
import { templateActions } from './templates/actions.ts'
import { templates } from './templates/templates.ts'
import { topics } from './topics.ts'
import { usage } from './usage.ts'
import { webhookEvents } from './webhooks/events.ts'
import { webhooks } from './webhooks/webhooks.ts'

/** Operations under a heading of the documentation. */
export type Resource = { name: string; description: string; operations: Operation[] }

export const resources: Resource[] = [
  {
    name: 'Emails',
    description: 'Send single emails or batches, now or later, and see their status.',
    operations: [...emails, ...emailBatch, ...emailAttachments, ...emailMetrics],
  },
  {
    name: 'Received emails',
    description: 'Read, reply to and forward email that your domains receive.',
    operations: [...receivedEmails, ...receivedAttachments, ...receivedReplies],
  },
  {
    name: 'Domains',
    description: 'Domains that you send from and receive at, with their DNS records.',
    operations: [...domains, ...domainClaims, ...domainDns, ...domainProviders],
  },
  {
    name: 'Contacts',
    description: 'The people that you write to, with their properties, in audiences.',
    operations: [
      ...contacts,
      ...contactBatches,
      ...contactImports,
      ...contactExports,
      ...contactSegments,
      ...contactTopics,
      ...contactProperties,
    ],
  },
  {
    name: 'Audiences',
    description: 'Named groups of contacts of a domain.',
    operations: [...audiences, ...audienceContacts],
  },
  { name: 'Segments', description: 'Contacts of a domain that a filter finds.', operations: segments },
  { name: 'Topics', description: 'Subjects that contacts can subscribe to.', operations: topics },
  {
    name: 'Campaigns',
    description: 'One email to many contacts, and what they do with it.',
    operations: [...campaigns, ...campaignActions, ...campaignDoubts, ...campaignReports, ...campaignAb],
  },
  { name: 'Polls', description: 'Questions in emails and campaigns, and the answers to them.', operations: polls },
  {
    name: 'Events',
    description: 'Things that your contacts do. Events start automations, and runs can wait for them.',
    operations: [...sentEvents, ...events],
  },
  {
    name: 'Automations',
    description: 'Steps that a contact goes through, starting with an event.',
    operations: [...automations, ...automationSteps, ...automationRuns],
  },
  {
    name: 'Suppressions',
    description: 'Addresses that get no email.',
    operations: [...suppressions, ...suppressionBatches, ...suppressionExports],
  },
  {
    name: 'Templates',
    description: 'Content with variables that many emails use.',
    operations: [...templates, ...templateActions],
  },
  {
    name: 'Webhooks',
    description: 'Requests that notify your server of events.',
    operations: [...webhooks, ...webhookEvents],
  },
  { name: 'Logs', description: 'Requests to this API.', operations: logs },
  { name: 'Usage', description: 'Quotas and how much of them is used.', operations: usage },
  {
    name: 'API keys',
    description: 'Keys of the account. Members manage them in the dashboard; API keys only list them.',
    operations: apiKeys,
  },
  {
    name: 'Members',
    description: 'People who use the dashboard, and the audit log of changes. API keys cannot call these.',
    operations: members,
  },
]

export const operations: Operation[] = resources.flatMap(resource => resource.operations)

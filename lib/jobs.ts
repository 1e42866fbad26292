import { z } from 'zod'

/** Every job by name, with its payload: always an object, with ids only. The API writes jobs, `tasks/` run them. */
export const jobs = {
  send_emails: z.object({ email_ids: z.array(z.uuid()) }),
  deliver_webhooks: z.object({ webhooks: z.array(z.object({ account_id: z.uuid(), id: z.int() })) }),
  process_batch: z.object({ account_id: z.uuid(), batch_id: z.uuid() }),
  verify_domain: z.object({ account_id: z.uuid(), domain_id: z.uuid() }),
  parse_email: z.object({ ids: z.array(z.object({ account_id: z.uuid(), id: z.uuid() })).max(100) }),
  judge_early_clicks: z.object({ deliveries: z.array(z.object({ account_id: z.uuid(), id: z.uuid() })) }),
  check_claim: z.object({ account_id: z.uuid(), claim_id: z.uuid() }),
  check_domains: z.object({}),
  rotate_dkim_keys: z.object({}),
  purge: z.object({}),
  check_reputation: z.object({}),
  release_deliveries: z.object({}),
  import_contacts: z.object({ account_id: z.uuid(), import_id: z.uuid() }),
  remove_leftovers: z.object({
    account_id: z.uuid(),
    of: z.enum(['domain', 'audience', 'segment', 'topic', 'property']),
    id: z.uuid(),
  }),
  start_campaigns: z.object({}),
  report_limited_runs: z.object({}),
  count_segment: z.object({ account_id: z.uuid(), id: z.uuid() }),
  send_campaign: z.object({ account_id: z.uuid(), campaign_id: z.uuid() }),
  unsubscribe_unreachable: z.object({ contacts: z.array(z.object({ account_id: z.uuid(), id: z.uuid() })) }),
  clear_runs: z.object({}),
  advance_runs: z.object({}),
} as const

export type JobName = keyof typeof jobs
export type JobPayload<Name extends JobName> = z.output<(typeof jobs)[Name]>

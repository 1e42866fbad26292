import { z } from 'zod'
import { DIMENSIONS, GRANULARITIES, METRICS, type Metric } from '#lib/sending/metrics/names.ts'
import { Rates } from '#lib/sending/metrics/rates.ts'

const count = (text: string) => z.int().optional().describe(text)

/** The requested metrics. */
const metrics = {
  received: count('Recipients of received emails.'),
  delivered: count('Recipients whose mail server accepted the email, and sent no bounce after that.'),
  complained: count('Recipients who reported it as spam. They also count as delivered.'),
  suppressed: count('Recipients of stored emails who were left out: unsubscribed, suppressed or reserved.'),
  bounced: count('Recipients whose address does not exist, or refuses mail.'),
  bounced_transient: count('Bounces of the type `Transient`.'),
  bounced_permanent: count('Bounces of the type `Permanent`.'),
  bounced_undetermined: count('Bounces of the type `Undetermined`.'),
  opened: count('Opens by people, and by proxies that load images for them.'),
  clicked: count('Clicks by people.'),
  unsubscribed: count('Recipients who unsubscribed by the email.'),
  delivery_delayed: count('Recipients whose mail server asked to try again later, once or more.'),
  failed: count('Recipients to whom it could not be delivered for another reason.'),
  sent: count('Recipients whose mail server accepted the email.'),
  unique_opened: count('Recipients who opened it.'),
  unique_clicked: count('Recipients who clicked a link.'),
  ...Rates.partial().shape,
} satisfies Record<Metric, z.ZodType>

const Totals = z.object(metrics).meta({ id: 'EmailMetricsTotals' })
const DataRow = z
  .object({
    period: z
      .string()
      .optional()
      .describe('Beginning of the period: a date, or `2027-01-31T09:00:00+02:00` with `hourly`.'),
    domain_id: z.string().optional().describe('Id of the sending or receiving domain; missing: it was deleted.'),
    domain_name: z.string().optional().describe('Name of the domain; missing: it was deleted.'),
    email_id: z.string().optional().describe('Id of the email.'),
    broadcast_id: z.string().optional().describe('Id of the campaign; missing: email of no campaign.'),
    broadcast_name: z.string().optional().describe('Name of the campaign; missing: it was deleted.'),
    ...metrics,
  })
  .meta({ id: 'EmailMetricsRow' })
export type DataRow = z.infer<typeof DataRow>

/** The record that the resend package types as `GetEmailsMetricsResponseSuccess`. */
export const EmailMetrics = z
  .object({
    object: z.literal('metrics'),
    start_date: z.date().describe('Beginning of the range.'),
    end_date: z.date().describe('End of the range.'),
    metrics: z.array(z.enum(METRICS)).describe('The metrics in this response.'),
    dimensions: z.array(z.enum(DIMENSIONS)).describe('What `data` is broken down by.'),
    granularity: z.enum(GRANULARITIES).describe('Length of a period.'),
    totals: Totals.describe('The metrics of the whole range.'),
    data: z
      .array(DataRow)
      .optional()
      .describe('A row for each combination of the dimensions; missing without dimensions.'),
  })
  .meta({ id: 'EmailMetrics' })
export type EmailMetrics = z.infer<typeof EmailMetrics>

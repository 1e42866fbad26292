import { MetricsQuery } from '#api/metrics_query.ts'
import { operation } from '#api/operations/operation.ts'
import { EmailMetrics } from '#flows/sending/metrics/email_metrics.ts'
import { answerMetrics } from '#flows/sending/metrics/read_metrics.ts'

export const emailMetrics = [
  operation('GET /emails/metrics', {
    id: 'getEmailMetrics',
    access: 'full',
    summary: 'Get the numbers of emails that were sent, delivered, opened and so on',
    description:
      'Figures are kept for 400 days per quarter of an hour. A range includes the quarters in which it begins and ends.',
    query: MetricsQuery,
    answers: { 200: EmailMetrics },
  }).handle(async (ctx, { account_id, query }) => answerMetrics(ctx.pool, account_id, query())),
]

/** Counts that are stored per quarter of an hour (sql/sending/metrics/count_metrics.sql). */
export const FIGURES = [
  'received',
  'sent',
  'delivered',
  'delivery_delayed',
  'bounced_permanent',
  'bounced_transient',
  'bounced_undetermined',
  'complained',
  'failed',
  'suppressed',
  'opened',
  'unique_opened',
  'clicked',
  'unique_clicked',
  'unsubscribed',
] as const
/** Counts of 0 may be missing. */
export type Figures = Partial<Record<(typeof FIGURES)[number], number>>

/** Metrics in a response, in the order of the resend package. */
export const METRICS = [
  'received',
  'delivered',
  'complained',
  'suppressed',
  'bounced',
  'bounced_transient',
  'bounced_permanent',
  'bounced_undetermined',
  'opened',
  'clicked',
  'unsubscribed',
  'delivery_delayed',
  'failed',
  'sent',
  'unique_opened',
  'unique_clicked',
  'delivery_rate',
  'open_rate',
  'click_rate',
  'bounce_rate',
  'complaint_rate',
  'unsubscribe_rate',
] as const
export type Metric = (typeof METRICS)[number]

export const DIMENSIONS = ['period', 'domain', 'email', 'broadcast'] as const
export type Dimension = (typeof DIMENSIONS)[number]

export const GRANULARITIES = ['hourly', 'daily', 'weekly', 'monthly'] as const
export type Granularity = (typeof GRANULARITIES)[number]

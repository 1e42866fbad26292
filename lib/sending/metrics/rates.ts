import { z } from 'zod'
import { FIGURES, type Figures, type Metric } from './names.ts'

type Counts = Record<'sent' | 'delivered' | 'bounced' | 'complained', number> &
  Record<'unique_opened' | 'unique_clicked' | 'unsubscribed', number>

const rate = (text: string) => z.number().describe(`${text}: a fraction with 4 decimals.`)

/** The rates that responses show. */
export const Rates = z.object({
  delivery_rate: rate('`delivered` of `sent`, or of `delivered` and `bounced` if they are more'),
  open_rate: rate('`unique_opened` of `delivered`'),
  click_rate: rate('`unique_clicked` of `delivered`'),
  bounce_rate: rate('`bounced` of `sent`, or of `delivered` and `bounced` if they are more'),
  complaint_rate: rate('`complained` of `delivered`'),
  unsubscribe_rate: rate('`unsubscribed` of `delivered`'),
})

/** Returns the rates of these counts. */
export function ratesOf(counts: Counts): z.infer<typeof Rates> {
  const { delivered } = counts
  const attempted = attemptedOf(counts)
  return {
    delivery_rate: rateOf(delivered, attempted),
    open_rate: rateOf(counts.unique_opened, delivered),
    click_rate: rateOf(counts.unique_clicked, delivered),
    bounce_rate: rateOf(counts.bounced, attempted),
    complaint_rate: rateOf(counts.complained, delivered),
    unsubscribe_rate: rateOf(counts.unsubscribed, delivered),
  }
}

/** Returns the recipients that deliveries and bounces are a part of. One whose mail server rejected it at once is not in `sent`. */
export function attemptedOf({ sent, delivered, bounced }: Pick<Counts, 'sent' | 'delivered' | 'bounced'>): number {
  return Math.max(sent, delivered + bounced)
}

/** Returns a rate with 4 decimals; 0 if the whole is 0. */
export function rateOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000
}

/** Returns all metrics of these figures. A negative figure counts as 0: it appears when the events it counted were purged. */
export function metricsOf(figures: Figures): Record<Metric, number> {
  const figure = (name: keyof Figures) => Math.max(0, figures[name] ?? 0)
  const bounces = {
    bounced_transient: figure('bounced_transient'),
    bounced_permanent: figure('bounced_permanent'),
    bounced_undetermined: figure('bounced_undetermined'),
  }
  const counts = {
    received: figure('received'),
    delivered: figure('delivered'),
    complained: figure('complained'),
    suppressed: figure('suppressed'),
    bounced: bounces.bounced_transient + bounces.bounced_permanent + bounces.bounced_undetermined,
    ...bounces,
    opened: figure('opened'),
    clicked: figure('clicked'),
    unsubscribed: figure('unsubscribed'),
    delivery_delayed: figure('delivery_delayed'),
    failed: figure('failed'),
    sent: figure('sent'),
    unique_opened: figure('unique_opened'),
    unique_clicked: figure('unique_clicked'),
  }
  return { ...counts, ...ratesOf(counts) }
}

/** Returns the sum of the figures of several parts. */
export function addFigures(parts: Figures[]): Figures {
  return Object.fromEntries(FIGURES.map(name => [name, parts.reduce((sum, part) => sum + (part[name] ?? 0), 0)]))
}

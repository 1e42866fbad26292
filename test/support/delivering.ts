import type { ClaimedDelivery } from '#sql/delivery/deliveries.ts'

/** A recipient of an email that has the same message for all. */
export const ANYBODY = { id: '00000000-0000-7000-8000-000000000000', recipient: 'anybody@y.com' }

/** A claimed delivery of an email that has the same message for all. */
export const PLAIN = {
  renderer: null,
  suppressed: false,
  unsubscribed: false,
  has_left: false,
  is_stopped: false,
  priority: 0,
  transport: null,
  is_watched: false,
  is_campaign: false,
} satisfies Partial<ClaimedDelivery>

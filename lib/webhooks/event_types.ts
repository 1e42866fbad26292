/** All events that a webhook can subscribe to. */
export const EVENT_TYPES = [
  'email.scheduled',
  'email.sent',
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.complained',
  'email.opened',
  'email.clicked',
  'email.failed',
  'email.suppressed',
  'email.canceled',
  'email.received',
  'email.replied',
  'email.unsubscribed',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.topics.updated',
  'contact_import.completed',
  'domain.created',
  'domain.updated',
  'domain.deleted',
  'topic.created',
  'topic.updated',
  'topic.deleted',
  'suppression.added',
  'suppression.removed',
  'campaign.sent',
  'campaign.canceled',
  'campaign.paused',
  'campaign.failed',
  'poll.answered',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** Stands for all events, including future ones. */
export const ALL_EVENTS = '*'

/** Sent only by POST /webhooks/:id/test; webhooks cannot subscribe to it. */
export const TEST_EVENT = 'test'

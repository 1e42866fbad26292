/** Every event that a webhook can subscribe to (contract 12.4). */
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
  'poll.answered',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** Stands for all of them, those that are yet to come as well. */
export const ALL_EVENTS = '*'

/** Sent by POST /webhooks/:id/test alone: nobody can subscribe to it. */
export const TEST_EVENT = 'test'

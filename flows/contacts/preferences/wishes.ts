import type { UnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import type { Preferences, PreferredTopic } from '#sql/contacts/preferences/preferences.ts'
import type { Wish } from './change_preferences.ts'

type Token = Pick<UnsubscribeToken, 'topic_id'>

/** The topic that a link unsubscribes from. Null: everything, also if its topic was deleted. */
export function topicOf({ topics }: Preferences, { topic_id }: Token): PreferredTopic | null {
  return topics.find(({ id }) => id === topic_id) ?? null
}

/** The topics that a person can choose. */
export function publicTopics({ topics }: Preferences): PreferredTopic[] {
  return topics.filter(({ is_public }) => is_public)
}

/** The wish of one click: out of the topic of the link, else out of everything. */
export function unsubscribeWish(token: Token, preferences: Preferences): Wish {
  const topic = topicOf(preferences, token)
  return topic ? { topics: [{ id: topic.id, subscription: 'opt_out' }] } : { everything: 'opt_out' }
}

/** Into the topic of the link again, else into everything. */
export function resubscribeWish(token: Token, preferences: Preferences): Wish {
  const topic = topicOf(preferences, token)
  return topic ? { topics: [{ id: topic.id, subscription: 'opt_in' }] } : { everything: 'opt_in' }
}

/**
 * The wish of a form with topics: of those that it showed, the person gets the ticked ones. Others stay as they are. Nothing for
 * those who have unsubscribed from everything, as a page that was opened before may ask: a tick does not subscribe them again.
 */
export function savedWish({ shown, ticked }: { shown: string[]; ticked: string[] }, preferences: Preferences): Wish {
  if (preferences.is_unsubscribed) return {}
  const isTicked = new Set(ticked)
  const topics = publicTopics(preferences).filter(({ id }) => shown.includes(id))
  return { topics: topics.map(({ id }) => ({ id, subscription: isTicked.has(id) ? 'opt_in' : 'opt_out' })) }
}

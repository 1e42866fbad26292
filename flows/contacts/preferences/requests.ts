import type { Subscription } from '#lib/contacts/new_contact.ts'
import type { UnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import type { Preferences, PreferredTopic } from '#sql/contacts/preferences/preferences.ts'
import type { PreferenceRequest } from './change_preferences.ts'

type Token = Pick<UnsubscribeToken, 'topic_id'>

/** Returns the topic that a link unsubscribes from; null for everything, also if its topic was deleted. */
export function topicOf({ topics }: Preferences, { topic_id }: Token): PreferredTopic | null {
  return topics.find(({ id }) => id === topic_id) ?? null
}

/** Returns the topics that a person can choose. */
export function publicTopics({ topics }: Preferences): PreferredTopic[] {
  return topics.filter(({ is_public }) => is_public)
}

/** Returns the request to leave the topic of the link, or else everything; with `opt_in`, to subscribe again. */
export function linkRequest(token: Token, preferences: Preferences, subscription: Subscription): PreferenceRequest {
  const topic = topicOf(preferences, token)
  return topic ? { topics: [{ id: topic.id, subscription }] } : { everything: subscription }
}

/**
 * Returns the request of a form with topics: of the topics that it showed, the ticked ones are subscribed and the others
 * are not. Topics that it did not show stay as they are. Returns nothing for a person who has unsubscribed from
 * everything: a page opened earlier may send ticks, and these must not subscribe the person again.
 */
export function formRequest(
  { shown, ticked }: { shown: string[]; ticked: string[] },
  preferences: Preferences,
): PreferenceRequest {
  if (preferences.is_unsubscribed) return {}
  const isTicked = new Set(ticked)
  const topics = publicTopics(preferences).filter(({ id }) => shown.includes(id))
  return { topics: topics.map(({ id }) => ({ id, subscription: isTicked.has(id) ? 'opt_in' : 'opt_out' })) }
}

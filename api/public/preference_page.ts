import type { ChangedPreferences } from '#flows/contacts/preferences/change_preferences.ts'
import { publicTopics, topicOf } from '#flows/contacts/preferences/requests.ts'
import type { UnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { escapeHtml } from '#lib/escape_html.ts'
import type { Preferences, PreferredTopic } from '#sql/contacts/preferences/preferences.ts'
import type { Words } from './languages/words.ts'
import { fill } from './page.ts'

/** Actions of the buttons of the page; the field of a form is named `action`. */
export const ACTIONS = ['unsubscribe', 'unsubscribe_topic', 'resubscribe', 'resubscribe_topic', 'save'] as const
export type Action = (typeof ACTIONS)[number]

export type Result = ChangedPreferences & { action: Action }

type View = { words: Words; token: UnsubscribeToken; preferences: Preferences; sender: string }

/** Returns the HTML of the page of one recipient. `result`: the change that their last request made. */
export function preferencePage(
  words: Words,
  token: UnsubscribeToken,
  preferences: Preferences,
  result?: Result,
): string {
  const sender = senderOf(preferences)
  const view = { words, token, preferences, sender }
  const { brand_logo_url: logo, has_complained, is_unsubscribed } = preferences
  return [
    ...(logo ? [`<img src="${escapeHtml(logo)}" alt="">`] : []),
    `<h1>${escapeHtml(sender)}</h1>`,
    `<p>${fill(words.recipient, { address: mask(token.address) })}</p>`,
    `<div role="status">${statusOf(view, result)}</div>`,
    ...(result ? [undoForm(view, result)] : []),
    ...(is_unsubscribed ? (has_complained ? [] : [resubscribeForm(view, result)]) : [unsubscribeForm(view)]),
    // Ticking a topic must not subscribe to everything, so an unsubscribed recipient first subscribes again.
    ...(is_unsubscribed ? [] : [topicForm(view)]),
  ]
    .filter(part => part !== '')
    .join('\n')
}

/** The name by which the recipient knows the sender. */
export function senderOf({ brand_name, domain }: Preferences): string {
  return brand_name ?? domain
}

/** Masks `ann@acme.com` as `a***@acme.com`: the link must not disclose the address to others. */
function mask(address: string): string {
  const at = address.lastIndexOf('@')
  const [first = ''] = address
  return `${first}***${address.slice(at)}`
}

function statusOf(view: View, result: Result | undefined): string {
  const { words, preferences, sender } = view
  const lines = result ? resultLines(view, result) : []
  if (preferences.is_unsubscribed && lines.length === 0) lines.push(fill(words.unsubscribed, { sender }))
  const refused = preferences.has_complained && (preferences.is_unsubscribed || isRefused(result))
  if (refused) lines.push(fill(words.complained, { sender }))
  if (result?.is_limited) lines.push(fill(words.too_often, {}))
  return lines.map(line => `<p>${line}</p>`).join('')
}

function isRefused(result: Result | undefined): boolean {
  return result !== undefined && result.action !== 'unsubscribe' && result.action !== 'unsubscribe_topic'
}

/** Describes the state after the request, not the change: pressing a button twice shows the same text twice. */
function resultLines({ words, token, sender }: View, { action, before, after }: Result): string[] {
  if (after.is_unsubscribed) return [fill(words.unsubscribed, { sender })]
  const isIn = topicOf(after, token)?.is_subscribed
  if (action === 'unsubscribe_topic' && !isIn) return [fill(words.unsubscribed_topic, {})]
  if (action === 'resubscribe_topic' && isIn) return [fill(words.resubscribed_topic, {})]
  const lines = before.is_unsubscribed || action === 'resubscribe' ? [fill(words.resubscribed, {})] : []
  const was = new Map(before.topics.map(({ id, is_subscribed }) => [id, is_subscribed]))
  const changed = publicTopics(after).filter(({ id, is_subscribed }) => was.get(id) !== is_subscribed)
  for (const [text, is] of [
    [words.no_longer, false],
    [words.from_now_on, true],
  ] as const) {
    const names = changed.filter(({ is_subscribed }) => is_subscribed === is).map(({ name }) => name)
    if (names.length > 0) lines.push(fill(text, { topics: names }))
  }
  return lines.length > 0 ? lines : [fill(words.nothing_changed, {})]
}

/** Returns a form that undoes the change; empty if nothing has changed. */
function undoForm({ words, preferences }: View, { action, before, after }: Result): string {
  if (before === after) return ''
  const undo = (action: Action, fields = '') => form(`${fields}${button(action, words.undo, 'second')}`)
  if (before.is_unsubscribed) return undo('unsubscribe')
  if (preferences.has_complained) return ''
  if (after.is_unsubscribed) return undo('resubscribe')
  if (action === 'unsubscribe_topic') return undo('resubscribe_topic')
  if (action === 'resubscribe_topic') return undo('unsubscribe_topic')
  const topics = publicTopics(before)
  const ticked = topics.filter(({ is_subscribed }) => is_subscribed)
  return undo('save', hidden('shown', topics) + hidden('topic', ticked))
}

function resubscribeForm({ words }: View, result: Result | undefined): string {
  // The undo button is the same.
  if (result && result.before !== result.after) return ''
  return form(button('resubscribe', words.resubscribe))
}

function unsubscribeForm({ words, token, preferences }: View): string {
  const topic = topicOf(preferences, token)
  const ofTopic = topic?.is_subscribed ? form(button('unsubscribe_topic', words.unsubscribe_topic)) : ''
  return ofTopic + form(button('unsubscribe', words.unsubscribe, ofTopic ? 'second' : ''))
}

function topicForm({ words, preferences }: View): string {
  const topics = publicTopics(preferences)
  if (topics.length === 0) return ''
  const boxes = topics.map(topic => checkbox(topic, topic.is_subscribed))
  return form(
    `${hidden('shown', topics)}<fieldset><legend>${escapeHtml(words.choose)}</legend>
${boxes.join('\n')}
</fieldset>${button('save', words.save)}`,
  )
}

function checkbox({ id, name, description }: PreferredTopic, isTicked: boolean): string {
  const more = description ? `<small>${escapeHtml(description)}</small>` : ''
  const tick = isTicked ? ' checked' : ''
  return `<label><input type="checkbox" name="topic" value="${id}"${tick}><span>${escapeHtml(name)}${more}</span></label>`
}

function form(content: string): string {
  return `<form method="post">${content}</form>`
}

function button(action: Action, text: string, kind = ''): string {
  const className = kind ? ` class="${kind}"` : ''
  return `<button name="action" value="${action}"${className}>${escapeHtml(text)}</button>`
}

function hidden(name: string, topics: PreferredTopic[]): string {
  return topics.map(({ id }) => `<input type="hidden" name="${name}" value="${id}">`).join('')
}

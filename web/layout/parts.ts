import { domainToUnicode } from 'node:url'
import { type Html, html } from '#web/html.ts'

/** Marks that distinguish states without relying on color. */
const MARKS: Record<string, [mark: string, tone: string]> = {
  good: ['✓', 'good'],
  bad: ['✕', 'bad'],
  wait: ['…', 'wait'],
  note: ['!', 'note'],
  plain: ['·', 'plain'],
}

const TONES: Record<string, keyof typeof MARKS> = {
  ...tones(
    'good',
    'delivered sent opened clicked verified enabled published completed subscribed success active pass interested',
  ),
  ...tones('bad', 'bounced complained failed disabled rejected fail error expired missing not_interested'),
  ...tones(
    'wait',
    'queued scheduled sending waiting delivery_delayed pending running processing testing in_progress not_started draft',
  ),
  ...tones(
    'note',
    'warning in_doubt suppressed canceled paused gray unread processing_failed partially_verified partially_failed temporary_failure skipped unsubscribed excluded',
  ),
}

function tones(tone: string, words: string): Record<string, string> {
  return Object.fromEntries(words.split(' ').map(word => [word, tone]))
}

/** A state with its mark. `words` replace the name of the state. */
export function badge(state: string | null | undefined, words?: string): Html {
  if (!state) return html`<span class="badge plain">none</span>`
  const [mark, tone] = MARKS[TONES[state.toLowerCase()] ?? 'plain'] as [string, string]
  return html`<span class="badge ${tone}"><span aria-hidden="true">${mark}</span> ${words ?? state.replaceAll('_', ' ')}</span>`
}

/** The status of an email. The API calls an email `sent` while a recipient is in doubt. */
export function emailBadge(status: string): Html {
  return badge(status === 'sent' ? 'in_doubt' : status)
}

/** A time in UTC. The script adds the local time. `missing` is shown for null. */
export function time(iso: string | null | undefined, missing = 'never'): Html {
  if (!iso) return html`<span class="missing">${missing}</span>`
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`
}

/** A list of names with their values. Empty values are left out. */
export function facts(
  entries: readonly (readonly [name: string, value: Html | string | number | null | undefined])[],
): Html {
  const shown = entries.filter(([, value]) => value !== null && value !== undefined && value !== '')
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** A part of a page with its own heading. */
export function section(heading: string, body: Html): Html {
  return html`<section><h2>${heading}</h2>${body}</section>`
}

/** A text with a button that copies it. The button needs the script. */
export function copyable(text: string, label: string): Html {
  return html`<span class="copyable"><code>${text}</code> <button type="button" class="link" data-copy="${text}" hidden>Copy<span class="hidden"> ${label}</span></button></span>`
}

/** A link that looks like a button. */
export function linkButton(path: string, name: string): Html {
  return html`<a class="button" href="${path}">${name}</a>`
}

/**
 * Returns a domain or an address, which may have a name before it, with its domain in Unicode: `ann@bücher.de` for `ann@xn--bcher-kva.de`.
 * Not for addresses that a stranger has chosen: in Unicode one domain may look like another.
 */
export function unicodeDomain(address: string): string {
  const start = address.lastIndexOf('@') + 1
  const decode = (name: string) => (name.includes('xn--') ? domainToUnicode(name) || name : name)
  return address.slice(0, start) + address.slice(start).replace(/[a-z0-9.-]+/g, decode)
}

export function count(number: number): string {
  return number.toLocaleString('en')
}

/** A number of things, such as `1 email` and `2 emails`. */
export function counted(number: number, thing: string): string {
  return `${count(number)} ${thing}${number === 1 ? '' : 's'}`
}

/** A part of a page that is folded unless it is open. */
export function part(name: Html | string, isOpen: boolean, body: Html): Html {
  return isOpen
    ? html`<details class="part" open><summary>${name}</summary>${body}</details>`
    : html`<details class="part"><summary>${name}</summary>${body}</details>`
}

/** A value as JSON, folded. */
export function foldedJson(value: unknown, label: string): Html {
  const json = preformatted(JSON.stringify(value, null, 2), label)
  return part(html`JSON<span class="hidden"> of ${label}</span>`, false, json)
}

/** Text with its line breaks, in a block that the keyboard can scroll. */
export function preformatted(text: string, label: string): Html {
  return html`<pre tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre>`
}

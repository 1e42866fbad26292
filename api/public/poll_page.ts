import { escapeHtml } from '#lib/escape_html.ts'
import type { PollForm } from '#lib/polls/new_poll.ts'
import type { AskedPoll } from '#sql/polls/asked_polls.ts'
import type { Words } from './languages/words.ts'
import { fill } from './page.ts'

/** The name by which the recipient knows the sender. */
function senderOf({ brand_name, domain }: AskedPoll): string {
  return brand_name ?? domain
}

/** `chosen`: key of the option that is selected. `is_limited`: the answer was changed too often to be changed again. */
type Shown = { chosen: string; is_limited: boolean }

/** Returns the HTML of the page on which a recipient answers. */
export function pollPage(words: Words, asked: AskedPoll, { chosen, is_limited }: Shown): string {
  const { brand_logo_url: logo, question, options, answer } = asked
  return [
    ...(logo ? [`<img src="${escapeHtml(logo)}" alt="">`] : []),
    `<h1>${escapeHtml(senderOf(asked))}</h1>`,
    `<div role="status">${statusOf(words, asked)}${is_limited ? `<p>${fill(words.too_often, {})}</p>` : ''}</div>`,
    `<form method="post"><fieldset><legend>${escapeHtml(question)}</legend>
${options.map(option => radio(option, option.key === chosen)).join('\n')}
</fieldset><button>${escapeHtml(answer === null ? words.send_answer : words.change_answer)}</button></form>`,
  ].join('\n')
}

function statusOf(words: Words, { is_test, answer, options }: AskedPoll): string {
  if (is_test) return `<p>${fill(words.test_poll, {})}</p>`
  const label = options.find(({ key }) => key === answer)?.label
  return label === undefined ? '' : `<p>${fill(words.answered, { answer: label })}</p>`
}

function radio({ key, label }: PollForm['options'][number], isChosen: boolean): string {
  const checked = isChosen ? ' checked' : ''
  return `<label><input type="radio" name="answer" value="${escapeHtml(key)}" required${checked}><span>${escapeHtml(label)}</span></label>`
}

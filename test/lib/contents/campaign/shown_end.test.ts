import { DomUtils, parseDocument } from 'htmlparser2'
import t from 'tap'
import { freezeContent } from '#lib/contents/campaign/freeze_content.ts'
import { insertPoll } from '#lib/contents/insert_poll.ts'

const NONE = { preview_text: null, postal_address: null }
const POLL = { question: 'How?', options: [{ key: 'a', label: 'Well' }] }

/** The text that readers see. */
const textOf = (html: string | null) => DomUtils.textContent(parseDocument(html ?? ''))

const UNENDED = [
  '<p>Hi</p><!-- footer ->',
  '<body><p>Hi</p><!--[if mso]>x</body></html>',
  '<p>Hi</p><!',
  '<p>Hi</p></body><!--',
]
const ENDED = ['<p>Hi</p><!-- footer -->', '<body><p>Hi</p><!-- x --></body><!-- y -->', '<p>Hi', '<p>Hi</p><!x><!-->']

for (const html of [...UNENDED, ...ENDED]) {
  t.test(`readers see the footer and the poll that are added to ${html}`, async t => {
    t.equal(textOf(freezeContent({ html, text: null }, NONE).html), 'HiUnsubscribe')
    t.match(textOf(insertPoll({ html, text: null }, POLL).html), /^Hi.*How\?.*Well/s)
  })
}

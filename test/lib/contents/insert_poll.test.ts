import fc from 'fast-check'
import t from 'tap'
import { compileContent, renderCompiled } from '#lib/contents/compile_content.ts'
import { insertPoll } from '#lib/contents/insert_poll.ts'
import { pollHtml, pollText } from '#lib/polls/poll_block.ts'

const form = {
  question: 'How <b>did</b> we {{name}} do?',
  options: [
    { key: 'a', label: 'A & "B"' },
    { key: 'b', label: '}} {{' },
  ],
}
const LINKS = { unsubscribe_url: 'https://a.b/u/x', poll_url: 'https://a.b/p/x/' }
const FILLING = { has_values: true, is_personal: true }

const part = fc.constantFrom(
  '<p>',
  '</p>',
  '<body>',
  '</body>',
  '</BODY >',
  'word',
  '{',
  '}}',
  '{{name}}',
  '{{{name}}}',
)
const html = fc.array(part, { minLength: 1, maxLength: 12 }).map(parts => parts.join(''))

t.test('insertPoll only adds its block to html', async t => {
  fc.assert(
    fc.property(html, source => {
      const inserted = insertPoll({ html: source, text: source }, form)
      t.equal(
        inserted.html?.replace(pollHtml(form), () => ''),
        source,
      )
      t.equal(inserted.text, `${source.trimEnd()}\n\n${pollText(form)}`)
    }),
  )
})

t.test('html without a poll stays the same, with poll links and without', async t => {
  const slot = fc.constantFrom('{{poll}}', '{{poll|x}}', '{{unsubscribe_url}}', '<a href="{{{UNSUBSCRIBE_URL}}}">')
  const source = fc.array(fc.oneof(part, slot), { minLength: 1, maxLength: 12 }).map(parts => parts.join(''))
  fc.assert(
    fc.property(source, html => {
      const content = compileContent({ html, text: null }, FILLING)
      const values = { name: '<i>', poll: 'y' }
      const { unsubscribe_url } = LINKS
      t.strictSame(renderCompiled(content, values, LINKS), renderCompiled(content, values, { unsubscribe_url }))
    }),
  )
})

t.test('poll links are filled in only when there is a poll and a recipient', async t => {
  const source = insertPoll({ html: '<p>{{poll}}</p>', text: null }, form)
  const content = compileContent(source, FILLING)
  const { html, text } = renderCompiled(content, {}, LINKS)
  t.strictSame(
    [...(html ?? '').matchAll(/href="([^"]*)"/g)].map(([, url]) => url),
    ['https://a.b/p/x/a', 'https://a.b/p/x/b'],
  )
  t.match(html, 'How &lt;b&gt;did&lt;/b&gt; we &#123;&#123;name}} do?')
  t.equal(text, 'How <b>did</b> we {{name}} do?\n\nA & "B" <https://a.b/p/x/a>\n}} {{ <https://a.b/p/x/b>')
  const shown = renderCompiled(content, {}, 'as_written')
  t.equal(shown.html, source.html)
  t.match(shown.text, 'A & "B" <{{poll_url:a}}>\n}} {{ <{{poll_url:b}}>')
  const plain = compileContent(
    { html: '<a href="{{poll_url:a}}">', text: '' },
    { has_values: false, is_personal: true },
  )
  t.equal(renderCompiled(plain, null, { unsubscribe_url: 'x' }).html, '<a href="{{poll_url:a}}">')
})

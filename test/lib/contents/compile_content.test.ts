import fc from 'fast-check'
import t from 'tap'
import { compileContent, type Links, renderCompiled, type Source, type Values } from '#lib/contents/compile_content.ts'
import { deriveText } from '#lib/contents/derive_text.ts'
import { compile, renderContent } from '#lib/contents/render_content.ts'

const fillingOf = (values: Values, links: Links) => ({ has_values: values !== null, is_personal: links !== null })
const make = (source: Partial<Source>, values: Values = null) =>
  renderCompiled(compileContent({ html: null, text: null, ...source }, fillingOf(values, null)), values)

t.test('html without text gets a text part, and an empty text means none', async t => {
  t.strictSame(make({ html: '<p>Hi' }), { html: '<p>Hi', text: 'Hi' })
  t.strictSame(make({ html: '<p>Hi', text: '' }), { html: '<p>Hi', text: null })
  t.strictSame(make({ html: '<p>Hi', text: 'Own' }), { html: '<p>Hi', text: 'Own' })
  t.strictSame(make({ html: '<img src="x">' }), { html: '<img src="x">', text: null })
  t.strictSame(make({ text: 'Own' }), { html: null, text: 'Own' })
  t.strictSame(make({ text: '' }), { html: null, text: '' })
  t.strictSame(make({ html: '', text: 'Own' }), { html: '', text: 'Own' })
})

t.test('a source is sent unchanged when there are no values', async t => {
  t.strictSame(make({ html: '<p>{{name}}' }), { html: '<p>{{name}}', text: '{{name}}' })
  t.strictSame(make({ html: '<p>{{name|you}}' }, {}), { html: '<p>you', text: 'you' })
})

t.test('values are escaped in html and not in the derived text part', async t => {
  const html = '<a href="{{url}}">Hi {{name}}</a>'
  t.strictSame(make({ html }, { url: 'https://a.b', name: 'A & B' }), {
    html: '<a href="https://a.b">Hi A &amp; B</a>',
    text: 'Hi A & B <https://a.b>',
  })
})

t.test('the derived text part contains the text of HTML values', async t => {
  t.strictSame(make({ html: '<p>{{{body}}}' }, { body: '<b>a</b><br>b' }), { html: '<p><b>a</b><br>b', text: 'a\nb' })
})

t.test('braces that tags or entities separate form no placeholder in the text', async t => {
  for (const html of ['{<b>{</b>name}}{{x}}', '&#123;&#123;name}}{{x}}', '\u{F0000}{{x}}']) {
    const { text } = make({ html }, { x: 'X' })
    t.equal(text, deriveText(html.replace('{{x}}', 'X')), html)
  }
})

const part = fc.constantFrom(
  '<p>',
  '<b>',
  '</b>',
  '<br>',
  '<li>',
  ' ',
  'word',
  '{{a}}',
  '{{b|c}}',
  '{{{c}}}',
  '<a href="https://x/{{a}}">',
  '</a>',
)
const value = fc.stringMatching(/^[a-z&<>"'é]{1,8}$/)

t.test('the derived text part equals the text of the rendered html', async t => {
  const values = fc.record({ a: value, b: value, c: value })
  const sources = fc.array(part, { maxLength: 20 }).map(parts => parts.join(''))
  fc.assert(
    fc.property(sources, values, (html, values) => {
      const made = make({ html }, values)
      t.equal(made.text ?? '', deriveText(made.html as string), html)
    }),
    { numRuns: 500 },
  )
})

/** The parts of an email with the links of its recipient. */
const makePersonal = (source: Partial<Source>, links: Links, values: Values = null) =>
  renderCompiled(compileContent({ html: null, text: null, ...source }, fillingOf(values, links)), values, links)

const LINKS = { unsubscribe_url: 'https://a.b/u/x' }

t.test('links of the recipient are filled in even when the email has no values', async t => {
  const html = '<a href="{{{RESEND_UNSUBSCRIBE_URL}}}">Out</a> {{ unsubscribe_url | none }} {{name}} {{{x|y}}}'
  t.strictSame(makePersonal({ html }, LINKS), {
    html: '<a href="https://a.b/u/x">Out</a> https://a.b/u/x {{name}} {{{x|y}}}',
    text: 'Out <https://a.b/u/x> https://a.b/u/x {{name}} {{{x|y}}}',
  })
  const text = '{{UNSUBSCRIBE_URL}} {{name}}'
  t.strictSame(makePersonal({ text }, LINKS, { name: 'A' }), { html: null, text: 'https://a.b/u/x A' })
  t.strictSame(makePersonal({ text: '{{unsubscribe_url}}' }, LINKS, { unsubscribe_url: 'own' }).text, 'own')
  t.throws(() => makePersonal({ text }, LINKS, {}), { message: 'Missing value for the variable `name`.' })
})

t.test('an email without values may contain many other placeholders', async t => {
  const text = '{{name}}'.repeat(30_000)
  t.strictSame(makePersonal({ text }, LINKS), { html: null, text })
  t.strictSame(makePersonal({ html: text }, LINKS), { html: text, text })
})

t.test('an email without values may exceed the length limit of rendering', async t => {
  const html = `<p>UNSUBSCRIBE_URL ${'x'.repeat(5_100_000)}`
  t.equal(makePersonal({ html, text: '' }, LINKS).html, html)
  t.throws(() => makePersonal({ html: `${html}{{UNSUBSCRIBE_URL}}`, text: '' }, LINKS), {
    message: 'The rendered `html` must have at most 5,000,000 characters.',
  })
})

t.test('link placeholders stay as written when there is no recipient', async t => {
  const html = '<a href="{{UNSUBSCRIBE_URL}}">Out</a> {{name|you}}'
  const text = 'Out <{{UNSUBSCRIBE_URL}}> you'
  t.strictSame(makePersonal({ html }, 'as_written', {}), { html: html.replace('{{name|you}}', 'you'), text })
  t.strictSame(makePersonal({ html }, 'as_written'), { html, text: text.replace('you', '{{name|you}}') })
})

t.test('long contents are compiled in a thread with the same result', async t => {
  const html = `<p>${'{{a}} and <b>{{{b}}}</b> '.repeat(4_000)}`
  const values = { a: '<x>', b: '<i>y</i>' }
  const filling = fillingOf(values, null)
  const content = await compile({ html, text: null }, filling)
  t.strictSame(content, compileContent({ html, text: null }, filling))
  t.strictSame(await renderContent(content, values, null), renderCompiled(content, values))
  await t.rejects(renderContent(content, { a: 'x' }, null), { message: /Missing value/ })
})

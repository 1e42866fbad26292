import fc from 'fast-check'
import t from 'tap'
import { atOnce } from '#lib/async/time_slice.ts'
import { type Lookup, listVariableKeys, type Part, render, type Value } from '#lib/templates/render.ts'
import { cpuMs } from '#test/support/cpu_time.ts'

const renderAll = (source: string, part: Part, lookup: Lookup) => atOnce(render(source, part, lookup))

/** Renders with these values; throws for what is refused. */
function draw(source: string, values: Record<string, Value> = {}, part: Part = 'html'): string {
  return renderAll(source, part, key => (Object.hasOwn(values, key) ? values[key] : undefined))
}
const parts: Part[] = ['subject', 'html', 'text']
const refusal = (message: RegExp) => ({ name: 'validation_error', statusCode: 422, message })

t.test('a placeholder is replaced by its value', async t => {
  for (const [source, expected] of [
    ['{{a}}', 'A'],
    ['<{{a}}{{ a }}{{\na\t}}>', '<AAA>'],
    ['{{n}} {{zero}} {{minus}} {{empty}}.', '1.5 0 -1 .'],
    ['{{{a}}}{{{ a }}}', 'AA'],
    ['{{a}}}', 'A}'],
    ['{{{a}}', '{A'],
    ['{{{{a}}}}', '{A}'],
    ['{{contact.x}}{{event.a.b.c}}{{poll_url:yes-1}}', '123'],
    ['', ''],
  ] as const) {
    const values = {
      a: 'A',
      n: 1.5,
      zero: 0,
      minus: -1,
      empty: '',
      'contact.x': 1,
      'event.a.b.c': 2,
      'poll_url:yes-1': 3,
    }
    t.equal(draw(source, values), expected, source)
  }
})

t.test('a fallback is used if there is no value', async t => {
  for (const [source, expected] of [
    ['{{x|there}}', 'there'],
    ['{{ x | there }}', 'there'],
    [`{{x|"there"}}{{x|'there'}}{{x| "there" }}`, 'therethere' + 'there'],
    [`{{x|" there "}}`, ' there '],
    [`{{x|"there'}}`, '&quot;there&#39;'],
    [`{{x|"}}{{x|""}}{{x|}}`, '&quot;'],
    ['{{x|a|b}}', 'a|b'],
    ['{{x|R & D}}{{{x|<b>}}}', 'R &amp; D<b>'],
    ['{{a|there}}{{empty|there}}', 'A'],
  ] as const) {
    t.equal(draw(source, { a: 'A', empty: '' }), expected, source)
  }
})

t.test('a placeholder without value or fallback is refused by name', async t => {
  t.throws(() => draw('{{a}}{{x}}', { a: 1 }), refusal(/^Missing value for the variable `x`\.$/))
  t.throws(() => draw('{{{contact.name}}}'), refusal(/`contact\.name`/))
})

t.test('the lookup is told whether the placeholder has a fallback', async t => {
  const asked: [string, boolean][] = []
  renderAll('{{a}}{{b|}}', 'text', (key, has_fallback) => asked.push([key, has_fallback]))
  t.strictSame(asked, [
    ['a', false],
    ['b', true],
  ])
})

t.test('text that is not a placeholder stays unchanged', async t => {
  for (const source of [
    ...['{{', '}}', '{{}}', '{{ }}', '{{a', '{{a}', '{a}}', '{ {a}}', '{{a|x', '{{a|{x}}', '{{a b}}', '{{é}}'],
    ...['{{#if a}}x{{/if}}', '{{^a}}', '{{> a}}', '{{& a}}', '{{! a}}', '{{a.b}}', '{{this.a}}', '{{user.name}}'],
    ...[
      '{{contact.}}',
      '{{.a}}',
      '{{contact}.a}',
      '{% a %}',
      '$'.concat('{a}'),
      '<%= a %>',
      '#{a}',
      '{{"a"}}',
      '{{a[0]}}',
    ],
    ...['{{a()}}', '{{7*7}}', '{{poll_url:}}', '\\{{', '{{a:b}}', '{{a-b}}', '{{=a}}'],
    ...[`{{${'a'.repeat(51)}}}`, `{{a|${'x'.repeat(2_001)}}}`, `{{${' '.repeat(21)}a}}`],
  ]) {
    for (const part of parts) t.equal(draw(source, { a: 1 }, part), source, source.slice(0, 20))
  }
})

// Expressions that have exploited engines with helpers, expressions or plain objects.
const injections = [
  ...['constructor', '__proto__', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__', 'prototype', 'this'],
  ...['constructor.constructor', 'this.constructor', '__proto__.x', 'contact.constructor', 'event.__proto__.toString'],
  ...['constructor.constructor("return process")()', 'a.constructor.prototype', '#with this', '#each this', '@root'],
  ...['7*7', '"a".constructor', 'range.constructor("return 1")()', 'config', 'self', '_self.env', 'process.env'],
  ...['global', 'process', 'require("fs")', 'settings', '../a', 'a|safe', 'a|raw', 'a | attr("x")', 'lookup this "a"'],
]

t.test('template injection shows nothing but the given values', async t => {
  for (const expression of injections) {
    for (const source of [`{{${expression}}}`, `{{{${expression}}}}`, `{{ ${expression} }}`, `{{a}}{{${expression}`]) {
      for (const part of parts) {
        let shown: string
        try {
          shown = draw(source, { a: 'A' }, part)
        } catch (error) {
          t.match(error, refusal(/^Missing value for the variable `[\w.]+`\.$/), source)
          continue
        }
        // Either it was no placeholder, or its result consists of the value of `a`.
        t.ok([source.replace('{{a}}', 'A'), 'A'].includes(shown), `${source}: ${shown}`)
      }
    }
  }
})

t.test('a value is escaped only in html', async t => {
  const a = `<a href="x" title='y'>&amp;</a>`
  const escaped = '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;'
  t.equal(draw('{{a}}', { a }), escaped)
  t.equal(draw('<p title="{{a}}">', { a }), `<p title="${escaped}">`)
  t.equal(draw('{{{a}}}', { a }), a)
  for (const part of ['subject', 'text'] as const) t.equal(draw('{{a}}{{{a}}}', { a }, part), a + a)
  t.equal(draw('{{a}}', { a: 'x\r\ny' }, 'text'), 'x\r\ny')
})

t.test('a value is not rendered again', async t => {
  const values = { a: '{{b}}', b: '{{{a}}}', c: '{{', d: 'b}}' }
  t.equal(draw('{{{a}}}{{b}}{{{c}}}{{{d}}}', values, 'text'), '{{b}}{{{a}}}{{b}}')
  t.equal(draw("{{x|$&$1$'}}{{{s}}}", { s: '$&$`$1' }, 'text'), "$&$1$'$&$`$1")
})

const unicode = fc.string({ unit: 'grapheme' })
const piece = fc.oneof(
  fc.constantFrom('{', '{{', '{{{', '}', '}}', '}}}', '|', ' ', 'a', 'b', 'contact.', '"', '\n', '<', '__proto__', '#'),
  unicode,
)
const source = fc.array(piece, { maxLength: 30 }).map(list => list.join(''))
const value = fc.oneof(
  source,
  fc.double({ noNaN: true }),
  fc.constantFrom('\r\nBcc: x@y.com', '\u2028', '\u0085', '\v\f'),
)
const dictionary = fc.dictionary(fc.constantFrom('a', 'b', 'contact.a', 'constructor'), value)

t.test('a value cannot add a line to a subject', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(source, dictionary, (text, values) => {
        const one_line = text.replace(/\s/g, ' ')
        const subject = renderAll(one_line, 'subject', key => (Object.hasOwn(values, key) ? values[key] : 'none'))
        return !/[\r\n\v\f\u0085\u2028\u2029]/.test(subject)
      }),
    ),
  )
})

t.test('text without {{ stays unchanged', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(source, dictionary, (text, values) => {
        const plain = text.replaceAll('{{', '{')
        return plain.includes('{{') || draw(plain, values) === plain
      }),
    ),
  )
})

t.test('html gains no markup from values in double braces', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('{{a}}', '{{b}}', '{{a|x}}', '-', '{{ b }}')),
        dictionary,
        (list, values) => {
          const html = renderAll(list.join(''), 'html', key => (Object.hasOwn(values, key) ? values[key] : ''))
          return !/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/.test(html)
        },
      ),
    ),
  )
})

t.test('listVariableKeys returns each key once, without reserved keys', async t => {
  const subject = '{{a}}{{contact.x}}{{FIRST_NAME}}{{first_name}}'
  const html =
    '{{{b|1}}}{{a}}{{unsubscribe_url}}{{{RESEND_UNSUBSCRIBE_URL}}}{{poll}}{{poll_url:yes}}{{this}}{{event.x}}'
  t.strictSame(atOnce(listVariableKeys(subject, html, '{{constructor}}{{__proto__}}{{#c}}')), [
    'a',
    'first_name',
    'b',
    'constructor',
  ])
})

t.test('a placeholder is found at any position of a long text', async t => {
  const [step, longest] = [256 * 1024, `{{{${' '.repeat(20)}x|${'y'.repeat(2_000)}}}}`]
  for (const placeholder of ['{{a}}', '{{{a}}}', longest, '{{a}}{{a}}{{a}}']) {
    const expected = placeholder === longest ? 'y'.repeat(2_000) : 'A'.repeat(placeholder.match(/a/g)?.length ?? 0)
    for (let before = step - 20; before <= step + 5; before++) {
      const [left, right] = ['{'.repeat(before), '}'.repeat(step)]
      const shown = draw(`${left} ${placeholder} ${right}`, { a: 'A' })
      if (shown !== `${left} ${expected} ${right}`) t.fail(`${placeholder.slice(0, 10)} behind ${before}`)
    }
  }
  t.throws(() => draw(`${'x'.repeat(step - 4)}{{{none}}}`), refusal(/`none`/))
})

t.test('the rendered length and the number of placeholders are limited', async t => {
  const a = 'x'.repeat(2_000)
  t.equal(draw('{{a}}'.repeat(2_500), { a }).length, 5_000_000)
  t.throws(
    () => draw('{{a}}'.repeat(2_500).concat('y'), { a }),
    refusal(/`html` must have at most 5,000,000 characters/),
  )
  t.throws(() => draw('{{a}}'.repeat(20_000), { a }, 'text'), refusal(/`text` must have at most/))
  t.throws(() => draw('y'.repeat(5_000_001)), refusal(/must have at most/))
  t.equal(draw('{{a}}'.repeat(20_000), { a: 1 }).length, 20_000)
  t.throws(() => draw('{{a}}'.repeat(20_001), { a: 1 }), refusal(/at most 20,000 placeholders/))
  t.throws(() => atOnce(listVariableKeys('{{a}}'.repeat(20_001))), refusal(/at most 20,000 placeholders/))
})

t.test('rendering takes linear time for hostile texts of the maximum length', async t => {
  const size = 5_000_000
  const fill = (text: string) => text.repeat(size / text.length)
  for (const [what, text] of Object.entries({
    braces: fill('{'),
    unclosed: fill('{{a'),
    keys: fill(`{{${'a'.repeat(50)}`),
    fallbacks: fill(`{{a|${'x'.repeat(2_000)}`),
    unfinished: `{{a|${'x'.repeat(size - 4)}`,
    spaces: `{{${' '.repeat(size - 2)}`,
    gaps: fill(`{{${' '.repeat(20)}`),
    scopes: `{{contact${'.a'.repeat((size - 9) / 2)}`,
    sections: '{{#a}}'.repeat(20_000).concat('{{/a}}'.repeat(20_000)),
    closing: fill('}}}'),
    polls: fill('{{poll_url:'),
  })) {
    const ms = await cpuMs(() => t.equal(draw(text), text, what))
    // Quadratic time would be minutes, and linear time is far below this on any machine.
    t.ok(ms < 5_000, `${what}: ${Math.round(ms)} ms`)
  }
})

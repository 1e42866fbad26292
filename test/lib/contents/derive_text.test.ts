import fc from 'fast-check'
import { convert } from 'html-to-text'
import t from 'tap'
import { deriveText } from '#lib/contents/derive_text.ts'

const cases: Record<string, [html: string, text: string]> = {
  'paragraphs and blanks': ['<p>One\n  two</p><p>Three&nbsp;four</p>', 'One two\n\nThree four'],
  'blocks without a blank line': ['<div>a</div><div>b<div>c</div></div>', 'a\nb\nc'],
  'line breaks': ['a<br>b<br/><br>c<br><br><br>d', 'a\nb\n\nc\n\nd'],
  'words across elements': ['<b>a</b>b <i>c</i>, d', 'ab c, d'],
  'soft hyphens': [
    'Donau&shy;dampf\u00adschiff&#8203;fahrt &#8203; &nbsp;&shy;end&#xFEFF;',
    'Donaudampfschifffahrt end',
  ],
  entities: ['&lt;b&gt; &amp;amp; &eacute; &#x1F600; &unknown; &copy', '<b> &amp; é 😀 &unknown; ©'],
  'a link': ['<a href="https://a.b/c?d=1&amp;e=2">Click <b>here</b></a>.', 'Click here <https://a.b/c?d=1&e=2>.'],
  'a link that shows its address': ['<a href="https://a.b/">https://a.b</a>', 'https://a.b'],
  'an address of mail': ['<a href="mailto:a@b.c">a@b.c</a>', 'a@b.c'],
  'links that lead nowhere': ['<a href="#top">top</a> <a>none</a> <a href="javascript:x()">run</a>', 'top none run'],
  'a link around a picture': ['<a href="https://a.b"><img src="x"></a>', '<https://a.b>'],
  'a link without an end': ['<a href="https://a.b">a <a href="https://c.d">c', 'a <https://a.b> c <https://c.d>'],
  'pictures by their text': ['<img alt="Logo" src="x"> <img alt="" src="y"> <img src="z"> end', 'Logo end'],
  lists: ['<ul><li>a<li>b<ul><li>c</ul></ul><ol start="9"><li>x<li>y</ol>', '- a\n- b\n  - c\n\n9. x\n10. y'],
  quotes: ['a<blockquote>b<p>c</p></blockquote>d', 'a\n\n> b\n>\n> c\n\nd'],
  'preformatted text': ['<pre>a  b\n  c</pre>', 'a  b\n  c'],
  tables: ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</table>', 'a b\nc'],
  'a rule': ['a<hr>b', 'a\n\n----------\n\nb'],
  'hidden elements': [
    '<title>x</title><style>p{}</style><script>"</p>"</script><p style="color:red; Display : none">pre</p><p hidden>x<p>b',
    'b',
  ],
  'a hidden element with others of its name inside': ['<div style="display:none">a<div>b</div>c</div>d', 'd'],
  comments: ['a<!-- b -->c<!--[if mso]>x<![endif]-->', 'ac'],
  'what is no HTML': ['a < b, 1 <2 & c', 'a < b, 1 <2 & c'],
  nothing: ['<img src="x" width="1">', ''],
}

for (const [name, [html, text]] of Object.entries(cases)) {
  t.test(`deriveText: ${name}`, async t => t.equal(deriveText(html), text))
}

const element = fc.constantFrom(...'p div b i span h1 ul ol li td tr table blockquote a center em strong'.split(' '))
const word = fc.constantFrom('one', 'two', 'Ärger', '&amp;', '&lt;', '  ', '\n', 'x&nbsp;y', '日本')
const piece = fc.oneof(
  word,
  element.map(name => `<${name}>`),
  element.map(name => `</${name}>`),
  fc.constantFrom('<br>', '<hr>', '<!-- c -->', '<a href="https://x.y/z">', '<img alt="pic">'),
)

/** The words a reader sees, in order, without what the two libraries put around them. */
const words = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}&]+|<(?!https)/gu) ?? []

t.test('deriveText finds the same words as another library, whatever the nesting', async t => {
  const options = {
    wordwrap: false as const,
    selectors: [
      { selector: 'a', options: { ignoreHref: true } },
      { selector: 'img', format: 'skip' },
      { selector: 'ol', format: 'block' },
    ],
  }
  const same = (html: string) => {
    const mine = words(
      deriveText(html.replaceAll('alt="pic"', '').replaceAll(/href="[^"]*"/g, '')).replace(/^[ >]*\d+\. /gm, ''),
    )
    t.strictSame(mine.join(''), words(convert(html, options).replace(/^-{10,}$/gm, '')).join(''), html)
  }
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), pieces => same(pieces.join(''))),
    { numRuns: 300 },
  )
})

t.test('deriveText takes linear time for hostile HTML', async t => {
  const hostile = (n: number) => [
    '<div>'.repeat(n),
    '<b>'.repeat(n) + '</i>'.repeat(n),
    '<a href="http://x">'.repeat(n),
    '<blockquote>x'.repeat(n),
    '<ul><li>x'.repeat(n),
    `<a ${'b=c '.repeat(n)}>`,
    '<!--'.repeat(n),
    '<'.repeat(n),
    '&amp'.repeat(n),
    '<p hidden>'.repeat(n),
    '<style>'.repeat(n),
  ]
  const cost = (html: string) => {
    const start = process.cpuUsage()
    deriveText(html)
    return process.cpuUsage(start).user
  }
  hostile(1_000).map(cost)
  const [short, long] = [hostile(10_000), hostile(100_000)]
  for (const [i, html] of long.entries()) {
    const [few, many] = [cost(short[i] as string), cost(html)]
    t.ok(many < 60 * Math.max(few, 5_000), `${html.slice(0, 20)}: ${few} and ${many} us`)
  }
})

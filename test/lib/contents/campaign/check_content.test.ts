import t from 'tap'
import { listContentWarnings } from '#lib/contents/campaign/check_content.ts'

const ADDRESS = 'Müller & Söhne\n1 Rue de l’Été, 75001 Paris'
const LEFT_OUT =
  'The postal address is left out: with a link of its own to unsubscribe, the content gets no footer. The law of many countries ' +
  'requires the address, so write it into the content.'

const FOUND = {
  'as it is': `<p>${ADDRESS}</p>`,
  'with tags and line breaks': 'Müller &amp; Söhne<br>1 Rue de<b> l’Été</b>,<br>75001 PARIS',
  'with entities':
    'M&uuml;ller &amp; S&#246;hne<br>1&nbsp;Rue de l&rsquo;&Eacute;t&#xe9;, 75001 Paris, <a href="{{unsubscribe_url}}">x</a>',
}
for (const [name, html] of Object.entries(FOUND)) {
  t.test(`a postal address in html is found ${name}`, async t =>
    t.strictSame(listContentWarnings({ html, text: null }, ADDRESS), []),
  )
}

t.test('a postal address that nobody sees is not found', async t => {
  t.strictSame(listContentWarnings({ html: `<!-- ${ADDRESS} --><p>Hi</p>`, text: 'Hi' }, ADDRESS), [LEFT_OUT])
})

t.test('a postal address in plain text is found', async t => {
  t.strictSame(listContentWarnings({ html: '<p>Hi</p>', text: `Hi\n${ADDRESS}` }, ADDRESS), [])
})

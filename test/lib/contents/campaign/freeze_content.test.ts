import t from 'tap'
import { listContentWarnings, refuseVariableSchemes } from '#lib/contents/campaign/check_content.ts'
import { freezeContent } from '#lib/contents/campaign/freeze_content.ts'
import {
  listContentKeys,
  recipientLookup,
  recipientValues,
  renameBareKeys,
} from '#lib/contents/campaign/recipient_values.ts'
import { compileContent, renderCompiled, type Source } from '#lib/contents/compile_content.ts'
import { listTrackedLinks } from '#lib/contents/track_part.ts'

const LINKS = { unsubscribe_url: 'https://a.b/u/x' }
const FILLING = { has_values: true, is_personal: true }
const ANN = { email: 'ann@y.com', first_name: 'Ann', last_name: null, properties: {} }

type Additions = { preview_text?: string; postal_address?: string }

/** The message as one recipient gets it. */
function make(source: Partial<Source>, additions: Additions = {}, contact: object = {}): Source {
  const frozen = freezeContent({ html: null, text: null, ...source }, { ...NONE, ...additions })
  const keys = listContentKeys(frozen.html, frozen.text)
  return renderCompiled(
    compileContent(frozen, FILLING),
    recipientValues(keys, recipientLookup({ ...ANN, ...contact })),
    LINKS,
  )
}
const NONE = { preview_text: null, postal_address: null }

t.test('content without an unsubscribe link gets a footer in html and text', async t => {
  const { html, text } = make(
    { html: '<html><body><p>Hi</p></body></html>', text: 'Hi\n' },
    { postal_address: 'A & B\n{{x}} St 1' },
  )
  t.match(
    html,
    /^<html><body><p>Hi<\/p><p style="[^"]+">A &amp; B<br>\{ \{x\}\} St 1<br><a href="https:\/\/a\.b\/u\/x">/,
  )
  t.match(html, /<\/a><\/p><\/body><\/html>$/)
  t.equal(text, 'Hi\n\n-- \nA & B\n{ {x}} St 1\nUnsubscribe: https://a.b/u/x\n')
  t.equal(make({ html: '<p>Hi' }).text, 'Hi\n\nUnsubscribe <https://a.b/u/x>', 'also a part that is derived')
  t.equal(make({ text: 'Hi' }).text, 'Hi\n\n-- \nUnsubscribe: https://a.b/u/x\n')
  t.equal(make({ html: '<p>Hi', text: '' }).text, null)
})

t.test('content with an unsubscribe link in either part gets no footer', async t => {
  const own = [
    { html: '<a href="{{unsubscribe_url}}">x</a>', text: 'y' },
    { html: '<p>x</p>', text: '{{{RESEND_UNSUBSCRIBE_URL}}}' },
  ]
  for (const source of own) t.strictSame(freezeContent(source, { ...NONE, postal_address: 'x' }), source)
  const mention = { html: '<p>UNSUBSCRIBE_URL</p>', text: null }
  t.not(freezeContent(mention, NONE).html, mention.html, 'the name alone is not a link')
})

t.test('an unsubscribe link in a comment of the html does not count', async t => {
  const comments = [
    '<!-- <a href="{{unsubscribe_url}}">x</a> --><p>Hi',
    '<!--[if mso]><a href="{{{UNSUBSCRIBE_URL}}}">x</a><![endif]--><p>Hi',
    '<p>Hi</p><!---- {{unsubscribe_url}}-->',
  ]
  for (const html of comments)
    t.match(freezeContent({ html, text: null }, NONE).html, /UNSUBSCRIBE_URL}}}">Unsubscribe/)
  const shown = { html: `${comments[0]}{{unsubscribe_url}}<!-- {{unsubscribe_url}}`, text: null }
  t.strictSame(freezeContent(shown, NONE), shown)
  const text = { html: null, text: '<!-- {{unsubscribe_url}} -->' }
  t.strictSame(freezeContent(text, NONE), text)
})

t.test('the preview text is hidden at the start of the body, and not in the text part', async t => {
  const preview_text = 'Hi {{first_name|"you"}} & <all>'
  const heads = [
    ['<!doctype html><html><head><title>x</title></head><BODY class="a>b">', '<p>Body {{unsubscribe_url}}'],
    ['<!doctype html><html><head></head >', '<p>Body {{unsubscribe_url}}'],
    ['<!DOCTYPE html>', '<p>Body {{unsubscribe_url}}'],
    ['', '<p>Body {{unsubscribe_url}}'],
  ] as const
  for (const [head, body] of heads) {
    const { html, text } = make({ html: head + body }, { preview_text }, { first_name: '' })
    const hidden = '<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">Hi you &amp; &lt;all&gt;&nbsp;'
    t.ok(html?.startsWith(head + hidden), `${head} ${html}`)
    t.equal(text, 'Body https://a.b/u/x')
  }
  t.equal(
    freezeContent({ html: null, text: '{{unsubscribe_url}}' }, { ...NONE, preview_text }).text,
    '{{unsubscribe_url}}',
  )
})

t.test('values are looked up in the documented order', async t => {
  const of = (text: string, contact: object = {}) =>
    make({ text: `${text}{{unsubscribe_url}}` }, {}, contact).text?.slice(0, -LINKS.unsubscribe_url.length)
  const contact = {
    properties: { plan: 'pro', size: 3, none: null },
    property_fallbacks: { plan: 'free', town: 'Rome', 'a{b': 'x' },
    template_fallbacks: { town: 'Oslo', color: 'red', FIRST_NAME: 'z' },
    variables: { code: 'X', last_name: 'Own' },
  }
  const cases = {
    '{{first_name}} {{FIRST_NAME}} {{email}} {{EMAIL}}': 'Ann Ann ann@y.com ann@y.com',
    '{{last_name}} {{LAST_NAME|-}} {{LAST_NAME}}.': 'Own - .',
    '{{plan}} {{size}} {{contact.plan}} {{contact.first_name}}': 'pro 3 pro Ann',
    '{{town}}': 'Rome',
    '{{town|Bonn}}': 'Oslo',
    '{{color}} {{color|blue}}': 'red red',
    '{{code}} {{none}} {{none|n}} {{unknown}} {{unknown|u}} {{event.x}}': 'X  n  u ',
    '{{constructor}}{{__proto__}}{{toString|t}}{{__proto__|p}}': 'tp',
    '{{poll}}': '',
  }
  for (const [text, shown] of Object.entries(cases)) t.equal(of(text, contact), shown, text)
  t.equal(of('{{first_name}} {{first_name|you}}', { first_name: null }), ' you')
})

t.test('the fallback of a placeholder beats that of a property, per placeholder', async t => {
  const contact = { property_fallbacks: { town: '{"Rome"}' } }
  const source = {
    html: '<p>{{town}} {{{town}}} {{town|Bonn}} {{contact.properties.town}}',
    text: '{{{contact.properties.town|Bern}}} {{unsubscribe_url}}',
  }
  const made = make(source, {}, contact)
  t.equal(made.html, '<p>{&quot;Rome&quot;} {"Rome"} Bonn {&quot;Rome&quot;}')
  t.equal(made.text, 'Bern https://a.b/u/x')
  const paris = make(source, {}, { ...contact, properties: { town: 'Paris' } })
  t.strictSame(paris, { html: '<p>Paris Paris Paris Paris', text: 'Paris https://a.b/u/x' })
})

t.test('recipientLookup has only the values that the content uses', async t => {
  const keys = listContentKeys('{{first_name}} {{plan|x}} {{{plan}}} {{UNSUBSCRIBE_URL}}', null, '{{town|y}}')
  t.strictSame(keys, [
    { key: 'first_name', has_fallback: false },
    { key: 'plan', has_fallback: false },
    { key: 'town', has_fallback: true },
  ])
  const lookup = recipientLookup({ ...ANN, properties: { plan: 5, other: 'x' } })
  t.strictSame(recipientValues(keys, lookup), { first_name: 'Ann', plan: '5' })
})

t.test('listTrackedLinks numbers the tracked links of a content', async t => {
  const html =
    '<a href="https://a.b/?x&amp;y"><a href="mailto:x"><a href="https://a.b/{{ id }}?q"><a href="https://a.b/?x&amp;y">'
  const { html: part } = compileContent({ html, text: null }, { ...FILLING, tracking: { opens: true, clicks: true } })
  t.strictSame(part && listTrackedLinks(part), [
    { link: 0, url: 'https://a.b/?x&y' },
    { link: 1, url: 'https://a.b/{{ id }}?q' },
    { link: 2, url: 'https://a.b/?x&y' },
  ])
})

t.test('a link whose scheme comes from a placeholder is refused', async t => {
  const refuse = (href: string) => refuseVariableSchemes(`<p>{{x}}<a href="https://a.b"><area href="${href}">`)
  for (const href of ['{{url}}', ' {{url|https://a.b}}', '{{s}}://a.b', 'http{{s}}://a.b', '{{{url}}}']) {
    t.throws(() => refuse(href), {
      name: 'validation_error',
      message: `The link \`${href}\` must begin with a scheme, such as \`https://\`, and not with a placeholder.`,
    })
  }
  for (const href of ['https://{{host}}/', '/{{path}}', '#{{x}}', '{{unsubscribe_url}}', 'mailto:{{email}}', ''])
    refuse(href)
})

t.test('listContentWarnings warns of a link whose host comes from a placeholder', async t => {
  const given = (href: string) =>
    renameBareKeys({ html: `<p>${href}{{x|y}}<a href="${href}">x</a>Street 1`, text: null })
  const warning = (link: string) =>
    `The host of the link \`${link}\` depends on a value, which could lead to another site: write the host in full, with a \`/\` after it.`
  const hosts = [
    'https://a.b{{x}}',
    'https://{{{x}}}.a.b/c',
    'HTTP://a.b:{{x}}',
    '//a.b{{x}}',
    'https:{{x}}',
    'https://a@{{x}}/',
  ]
  for (const href of hosts) t.strictSame(listContentWarnings(given(href), 'Street 1'), [warning(href)])
  const others = [
    'https://a.b/{{x}}',
    'https://a.b?{{x}}',
    'https://a.b#{{x}}',
    '/{{x}}',
    'mailto:{{x}}',
    '{{unsubscribe_url}}',
  ]
  for (const href of others) t.strictSame(listContentWarnings(given(href), 'Street 1'), [])
  const text = 'https://a.b/{{x}} a.b:{{x}} Street 1 '
  t.strictSame(listContentWarnings({ html: null, text }, 'Street 1'), [])
  t.strictSame(listContentWarnings({ html: null, text: `${text}(https://a.b{{x}}{{y}} https://{{z}}` }, 'Street 1'), [
    warning('https://a.b{{x}}'),
    warning('https://{{z}}'),
  ])
  const both = { html: '<a href="https://a.b{{x}}">Street 1', text: 'https://a.b{{x}}' }
  t.strictSame(listContentWarnings(both, 'Street 1'), [warning('https://a.b{{x}}')])
})

t.test('listContentWarnings warns of html that Gmail clips and of a missing postal address', async t => {
  t.strictSame(listContentWarnings({ html: '<p>Hi<p>Street 1', text: null }, 'Street 1'), [])
  t.strictSame(listContentWarnings({ html: `${'é'.repeat(60_000)} Street 1`, text: null }, 'Street 1'), [
    'The html has 118 KB: Gmail hides what is beyond 102 KB.',
  ])
  t.strictSame(listContentWarnings({ html: null, text: 'x' }, null), [
    'There is no postal address for the footer, which the law of many countries requires.',
  ])
})
